import { call, type CallOptions, type ChangeOptions, eachRow, type StartOptions } from "./operate.ts";
import type { Settings } from "./settings.ts";
import type { BodyOf, Element, ElementPage, QueryOf } from "./types.ts";

export function elementMethods(settings: Settings) {
  const list = async (query: QueryOf<"listElements"> = {}, options: CallOptions = {}): Promise<ElementPage> =>
    call("listElements", {}, { ...options, query }, settings);

  return {
    create: async (json: BodyOf<"createElement">, options: StartOptions = {}): Promise<Element> =>
      call("createElement", {}, { ...options, json }, settings),

    /** One page, newest first; `nextCursor` is the `cursor` of the next one. */
    list,

    each: (query: QueryOf<"listElements"> = {}, options: CallOptions = {}): AsyncGenerator<Element, void, undefined> =>
      eachRow(list, "elements", query, options),

    read: async (elementId: string, options: CallOptions = {}): Promise<Element> =>
      call("readElement", { elementId }, options, settings),

    /** Takes that were made with it become outdated. */
    change: async (elementId: string, json: BodyOf<"changeElement">, options: ChangeOptions = {}): Promise<Element> =>
      call("changeElement", { elementId }, { ...options, json }, settings),

    /** Removes it from all films and projects. Predictions keep their inputs. */
    delete: async (elementId: string, options: ChangeOptions = {}): Promise<Element> =>
      call("deleteElement", { elementId }, options, settings),
  };
}
