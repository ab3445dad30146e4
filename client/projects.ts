import { type Api, type CallOptions, type ChangeOptions, eachRow, type StartOptions } from "./operate.ts";
import type { BodyOf, QueryOf } from "./types.ts";

export function projectMethods({ call }: Api) {
  const list = (query: QueryOf<"listProjects"> = {}, options: CallOptions = {}) =>
    call("listProjects", {}, { ...options, query });

  return {
    create: (json: BodyOf<"createProject">, options: StartOptions = {}) =>
      call("createProject", {}, { ...options, json }),

    /** One page, newest first; `nextCursor` is the `cursor` of the next one. */
    list,

    /** Reads page by page: `for await (const project of keyframe.projects.each())`. */
    each: (query: QueryOf<"listProjects"> = {}, options: CallOptions = {}) =>
      eachRow(list, (page) => page.projects, query, options),

    /** The project with the latest prediction and the shown take of each step. */
    read: (projectId: string, options: CallOptions = {}) => call("readProject", { projectId }, options),

    change: (projectId: string, json: BodyOf<"changeProject">, options: ChangeOptions = {}) =>
      call("changeProject", { projectId }, { ...options, json }),

    /** Deletes a project, its predictions and files. Cannot be undone. */
    delete: (projectId: string, options: ChangeOptions = {}) => call("deleteProject", { projectId }, options),
  };
}
