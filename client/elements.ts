import { type CallOptions, eachRow, operate, type StartOptions } from "./operate.ts";
import { type ChangeOptions, ifMatch } from "./projects.ts";
import type { Settings } from "./settings.ts";
import type { BodyOf, Element, ElementPage, QueryOf } from "./types.ts";

export function elementMethods(settings: Settings) {
  const list = async (query: QueryOf<"listElements"> = {}, options: CallOptions = {}): Promise<ElementPage> =>
    (await operate("listElements", {}, { ...options, query }, settings)).data;

  return {
    create: async (json: BodyOf<"createElement">, options: StartOptions = {}): Promise<Element> =>
      (await operate("createElement", {}, { ...options, json }, settings)).data,

    /** One page, newest first; `nextCursor` is the `cursor` of the next one. */
    list,

    each: (query: QueryOf<"listElements"> = {}, options: CallOptions = {}): AsyncGenerator<Element, void, undefined> =>
      eachRow(list, "elements", query, options),

    read: async (elementId: string, options: CallOptions = {}): Promise<Element> =>
      (await operate("readElement", { elementId }, options, settings)).data,

    /** Takes that were made with it are outdated then. */
    change: async (
      elementId: string,
      json: BodyOf<"changeElement">,
      { unchangedSince, ...options }: ChangeOptions = {},
    ): Promise<Element> =>
      (await operate("changeElement", { elementId }, { ...options, json, headers: ifMatch(unchangedSince) }, settings))
        .data,

    /** It leaves all films and projects. Predictions keep what they were made with. */
    delete: async (elementId: string, { unchangedSince, ...options }: ChangeOptions = {}): Promise<Element> =>
      (await operate("deleteElement", { elementId }, { ...options, headers: ifMatch(unchangedSince) }, settings)).data,
  };
}
