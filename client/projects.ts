import { makeUpright } from "./upright.ts";
import { call, type CallOptions, type ChangeOptions, eachRow, type StartOptions } from "./operate.ts";
import type { Settings } from "./settings.ts";
import type {
  AnswerOf,
  BodyOf,
  ListedProject,
  Prediction,
  PredictionPage,
  Project,
  ProjectPage,
  ProjectWithPredictions,
  QueryOf,
} from "./types.ts";

/** Time for 10 MiB over a slow line. */
const UPLOAD_LIMIT_MS = 5 * 60_000;

export function projectMethods(settings: Settings) {
  const listProjects = async (query: QueryOf<"listProjects"> = {}, options: CallOptions = {}): Promise<ProjectPage> =>
    call("listProjects", {}, { ...options, query }, settings);

  const listPredictions = async (
    projectId: string,
    query: QueryOf<"listPredictions"> = {},
    options: CallOptions = {},
  ): Promise<PredictionPage> => call("listPredictions", { projectId }, { ...options, query }, settings);

  return {
    createProject: async (json: BodyOf<"createProject">, options: StartOptions = {}): Promise<Project> =>
      call("createProject", {}, { ...options, json }, settings),

    /** One page, newest first; `nextCursor` is the `cursor` of the next one. */
    listProjects,

    /** Reads page by page: `for await (const project of keyframe.eachProject())`. */
    eachProject: (
      query: QueryOf<"listProjects"> = {},
      options: CallOptions = {},
    ): AsyncGenerator<ListedProject, void, undefined> => eachRow(listProjects, "projects", query, options),

    /** The project with the latest prediction and the shown take of each step. */
    readProject: async (projectId: string, options: CallOptions = {}): Promise<ProjectWithPredictions> =>
      call("readProject", { projectId }, options, settings),

    changeProject: async (
      projectId: string,
      json: BodyOf<"changeProject">,
      options: ChangeOptions = {},
    ): Promise<Project> => call("changeProject", { projectId }, { ...options, json }, settings),

    /** Also deletes its predictions and files. Cannot be undone. */
    deleteProject: async (projectId: string, options: ChangeOptions = {}): Promise<Project> =>
      call("deleteProject", { projectId }, options, settings),

    /** One page of a project's predictions, newest first. */
    listPredictions,

    eachPrediction: (
      projectId: string,
      query: QueryOf<"listPredictions"> = {},
      options: CallOptions = {},
    ): AsyncGenerator<Prediction, void, undefined> =>
      eachRow((...page) => listPredictions(projectId, ...page), "predictions", query, options),

    /** Hides a prediction from lists, or shows it again. */
    hidePrediction: async (
      { projectId, predictionId }: Pick<Prediction, "projectId" | "predictionId">,
      hidden = true,
      options: CallOptions = {},
    ): Promise<Prediction> =>
      call("changePrediction", { projectId, predictionId }, { ...options, json: { hidden } }, settings),

    /** Stores the end image of a video (`lastFrameOf`, uploaded): shots that wait to continue it start. */
    storeEnd: async (
      { projectId, predictionId }: Pick<Prediction, "projectId" | "predictionId">,
      endImagePath: string | null,
      options: CallOptions = {},
    ): Promise<Prediction> =>
      call("changePrediction", { projectId, predictionId }, { ...options, json: { endImagePath } }, settings),

    /** Also deletes its file. Cannot be undone. Throws `generation_in_progress` while it runs, or a running generation uses it. */
    deletePrediction: async (
      { projectId, predictionId }: Pick<Prediction, "projectId" | "predictionId">,
      options: CallOptions = {},
    ): Promise<Prediction> => call("deletePrediction", { projectId, predictionId }, options, settings),

    /**
     * PNG, JPEG or WebP of at most 10 MiB; the bytes decide the type. Metadata, such as a photo's location, is removed. A photo that
     * its Exif data turn is sent upright; outside browsers the service refuses it.
     */
    uploadReferenceImage: async (
      image: Blob | Uint8Array | ArrayBuffer,
      options: StartOptions = {},
    ): Promise<AnswerOf<"uploadReferenceImage">> => {
      // The type of a body excludes a SharedArrayBuffer.
      const bytes = await makeUpright(image as Blob | Uint8Array<ArrayBuffer> | ArrayBuffer);
      const input = { ...options, bytes, limitMs: UPLOAD_LIMIT_MS };
      return await call("uploadReferenceImage", {}, input, settings);
    },
  };
}
