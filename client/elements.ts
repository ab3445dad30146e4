import { type Api, type CallOptions, type ChangeOptions, eachRow, type StartOptions } from "./operate.ts";
import type { BodyOf, QueryOf } from "./types.ts";

export function elementMethods({ call }: Api) {
  const list = (query: QueryOf<"listElements"> = {}, options: CallOptions = {}) =>
    call("listElements", {}, { ...options, query });

  return {
    create: (json: BodyOf<"createElement">, options: StartOptions = {}) =>
      call("createElement", {}, { ...options, json }),

    /** One page, newest first; `nextCursor` is the `cursor` of the next one. */
    list,

    each: (query: QueryOf<"listElements"> = {}, options: CallOptions = {}) =>
      eachRow(list, (page) => page.elements, query, options),

    read: (elementId: string, options: CallOptions = {}) => call("readElement", { elementId }, options),

    /** Changes an element. Takes that were made with it become outdated. */
    change: (elementId: string, json: BodyOf<"changeElement">, options: ChangeOptions = {}) =>
      call("changeElement", { elementId }, { ...options, json }),

    /** Deletes an element and removes it from all films and projects. Predictions keep their inputs. */
    delete: (elementId: string, options: ChangeOptions = {}) => call("deleteElement", { elementId }, options),
  };
}
