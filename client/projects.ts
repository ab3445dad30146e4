import { type Api, type CallOptions, type ChangeOptions, eachRow, type StartOptions } from "./operate.ts";
import type { BodyOf, Prediction, QueryOf } from "./types.ts";
import { makeUpright } from "./upright.ts";

/** Time for 10 MiB over a slow line. */
const UPLOAD_LIMIT_MS = 5 * 60_000;

type Ref = Pick<Prediction, "projectId" | "predictionId">;

export function projectMethods({ call }: Api) {
  const listProjects = (query: QueryOf<"listProjects"> = {}, options: CallOptions = {}) =>
    call("listProjects", {}, { ...options, query });

  const listPredictions = (projectId: string, query: QueryOf<"listPredictions"> = {}, options: CallOptions = {}) =>
    call("listPredictions", { projectId }, { ...options, query });

  return {
    createProject: (json: BodyOf<"createProject">, options: StartOptions = {}) =>
      call("createProject", {}, { ...options, json }),

    /** One page, newest first; `nextCursor` is the `cursor` of the next one. */
    listProjects,

    /** Reads page by page: `for await (const project of keyframe.eachProject())`. */
    eachProject: (query: QueryOf<"listProjects"> = {}, options: CallOptions = {}) =>
      eachRow(listProjects, (page) => page.projects, query, options),

    /** The project with the latest prediction and the shown take of each step. */
    readProject: (projectId: string, options: CallOptions = {}) => call("readProject", { projectId }, options),

    changeProject: (projectId: string, json: BodyOf<"changeProject">, options: ChangeOptions = {}) =>
      call("changeProject", { projectId }, { ...options, json }),

    /** Also deletes its predictions and files. Cannot be undone. */
    deleteProject: (projectId: string, options: ChangeOptions = {}) => call("deleteProject", { projectId }, options),

    /** One page of a project's predictions, newest first. */
    listPredictions,

    eachPrediction: (projectId: string, query: QueryOf<"listPredictions"> = {}, options: CallOptions = {}) =>
      eachRow(
        (...args) => listPredictions(projectId, ...args),
        (page) => page.predictions,
        query,
        options,
      ),

    /** Hides a prediction from lists, or shows it again. */
    hidePrediction: async ({ projectId, predictionId }: Ref, hidden = true, options: CallOptions = {}) =>
      call("changePrediction", { projectId, predictionId }, { ...options, json: { hidden } }),

    /** Stores the end image of a video (`lastFrameOf`, uploaded): shots that wait to continue it start. */
    storeEnd: async ({ projectId, predictionId }: Ref, endImagePath: string | null, options: CallOptions = {}) =>
      call("changePrediction", { projectId, predictionId }, { ...options, json: { endImagePath } }),

    /** Also deletes its file. Cannot be undone. Throws `generation_in_progress` while it runs, or a running generation uses it. */
    deletePrediction: async ({ projectId, predictionId }: Ref, options: CallOptions = {}) =>
      call("deletePrediction", { projectId, predictionId }, options),

    /**
     * PNG, JPEG or WebP of at most 10 MiB; the bytes decide the type. Metadata, such as a photo's location, is removed. A photo that
     * its Exif data turn is sent upright; outside browsers the service refuses it.
     */
    uploadReferenceImage: async (image: Blob | Uint8Array | ArrayBuffer, options: StartOptions = {}) => {
      // The type of a body excludes a SharedArrayBuffer.
      const bytes = await makeUpright(image as Blob | Uint8Array<ArrayBuffer> | ArrayBuffer);
      return await call("uploadReferenceImage", {}, { ...options, bytes, limitMs: UPLOAD_LIMIT_MS });
    },
  };
}
