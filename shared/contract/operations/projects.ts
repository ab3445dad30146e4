import { changePredictionBody, prediction, predictionPath, uploadedReferenceImage } from "../predictions.ts";
import {
  changeProjectBody,
  createProjectBody,
  listPredictionsQuery,
  listProjectsQuery,
  predictionPage,
  project,
  projectPage,
  projectPath,
  projectWithPredictions,
} from "../projects.ts";
import { SAMPLE } from "../samples.ts";
import type { Operation } from "./operation.ts";

const path = { projectId: SAMPLE.projectId };
const takePath = { ...path, predictionId: SAMPLE.firstFrameId };
const all = { at: "/projects", tag: "Projects", caller: "session" } as const;
const one = { ...all, at: "/projects/:projectId", path: projectPath, status: 200 } as const;
const take = {
  ...one,
  at: "/projects/:projectId/predictions/:predictionId",
  path: predictionPath,
  answer: prediction,
} as const;

export const projectOperations = {
  createProject: {
    ...all,
    method: "POST",
    summary: "Create a project",
    description:
      "Saves a title, the prompt of the scene and an optional description; with `filmId`, as the last shot of that film. No generation starts, so nothing is charged by the provider. Sends `project.created` to webhook endpoints.\n\n" +
      "After a timeout or a 5xx, repeat the request with the same `Idempotency-Key`: one project is created.",
    body: createProjectBody,
    status: 201,
    answer: project,
    versioned: true,
    examples: [
      {
        summary: "With a description",
        body: {
          title: "Harbour",
          textPrompt: "A harbour at dawn, fog, one red boat",
          description: "Keep the colours of the reference image.",
        },
      },
      {
        summary: "As the last shot of a film",
        body: { title: "The boat leaves", textPrompt: "A red boat leaves the harbour", filmId: SAMPLE.filmId },
      },
      { summary: "Required fields only", body: { title: "Harbour", textPrompt: "A harbour at dawn" } },
    ],
  },
  listProjects: {
    ...all,
    method: "GET",
    summary: "List your projects, newest first",
    description:
      "Returns one page. Pass `nextCursor` as `cursor` to read the next page; it is null on the last one. Projects created meanwhile do not shift the pages. A page of a `search` looks at 5,000 projects at most, so it can be short or empty although there is a next page.\n\n" +
      "If a cursor is refused with `invalid_request`, start again without it.",
    query: listProjectsQuery,
    status: 200,
    answer: projectPage,
    examples: [
      { summary: "The newest 20" },
      {
        summary: "With the latest predictions and the takes of each project",
        query: { limit: "10", include: "predictions" },
      },
      { summary: "Found by title", query: { search: "harb" } },
    ],
  },
  readProject: {
    ...one,
    method: "GET",
    summary: "Read a project with the latest prediction and the take of each step",
    description:
      "`predictions` has the latest prediction of each step, whatever its status; null where none was started. `takes` has the take to show: the selected one, otherwise the latest that succeeded and is not hidden. The URLs of their outputs are valid for at least 15 minutes.\n\n" +
      "A project that does not exist and a project of another user are both `not_found`.",
    answer: projectWithPredictions,
    versioned: true,
    errors: ["not_found"],
    examples: [{ summary: "One project", path }],
  },
  changeProject: {
    ...one,
    method: "PATCH",
    summary: "Change a project",
    description:
      "Send at least one field; fields you leave out keep their value. Predictions keep the inputs they were started with. A selected take must be of this project and have succeeded; a reference image must be yours.\n\n" +
      "With `If-Match` and the project's ETag, the request fails with `precondition_failed` if the project has changed since: read it again. A change to the same values keeps the ETag.\n\n" +
      "After a timeout or a 5xx, repeat the request: the result is the same. With `If-Match` it can answer `precondition_failed` because the first one succeeded: read the project.",
    body: changeProjectBody,
    answer: project,
    versioned: true,
    errors: ["not_found", "frame_not_ready", "unsupported_input", "precondition_failed"],
    examples: [
      { summary: "Another title", path, body: { title: "Harbour, second draft" } },
      { summary: "Remove it from its film", path, body: { filmId: null } },
      {
        summary: "A plan: its video continues the previous shot",
        path,
        body: { plan: { video: { continuesPreviousShot: true, durationSeconds: 5 } } },
      },
      { summary: "Another first frame", path, body: { selected: { "first-frame": SAMPLE.firstFrameId } } },
      { summary: "Another video", path, body: { selected: { video: SAMPLE.videoId } } },
    ],
  },
  deleteProject: {
    ...one,
    method: "DELETE",
    summary: "Delete a project with its predictions and files",
    description:
      "This cannot be undone. The outputs, and reference images that none of your other projects uses, are removed from Storage shortly afterwards.\n\n" +
      "While a generation runs, in this project or in another one that uses a frame of it, the request fails with `generation_in_progress`: cancel the generation, or wait for its end, then delete again. With `If-Match` and the project's ETag, it fails with `precondition_failed` if the project has changed since. If a repeated request answers `not_found`, the first one succeeded.",
    answer: project,
    errors: ["not_found", "generation_in_progress", "precondition_failed"],
    examples: [{ summary: "A project", path }],
  },
  listPredictions: {
    ...one,
    method: "GET",
    at: "/projects/:projectId/predictions",
    summary: "List the predictions of a project, newest first",
    description:
      "Returns one page, including predictions that failed or were canceled. `status=succeeded` returns only takes; `hidden=true` includes hidden ones. Pass `nextCursor` as `cursor` to read the next page; it is null on the last one.\n\n" +
      "If a cursor is refused with `invalid_request`, start again without it.",
    query: listPredictionsQuery,
    answer: predictionPage,
    errors: ["not_found"],
    examples: [
      { summary: "All predictions", path },
      { summary: "The videos", path, query: { step: "video", limit: "5" } },
      { summary: "The takes of a step", path, query: { step: "first-frame", status: "succeeded" } },
    ],
  },
  changePrediction: {
    ...take,
    method: "PATCH",
    summary: "Hide a prediction or show it again; store the last picture of a video",
    description:
      "Lists leave a hidden prediction out, and its step shows another take unless this one is selected. It can still be read, selected and used by its id.\n\n" +
      "`endImagePath` is the last picture of a video, which you have uploaded: starts of the next shot that wait for it begin. After a timeout or a 5xx, repeat the request: the result is the same.",
    body: changePredictionBody,
    tagged: true,
    errors: ["not_found", "unsupported_input"],
    examples: [
      { summary: "A take that you have rejected", path: takePath, body: { hidden: true } },
      {
        summary: "The last picture of a video",
        path: { ...takePath, predictionId: SAMPLE.videoId },
        body: { endImagePath: SAMPLE.referenceImagePath },
      },
    ],
  },
  deletePrediction: {
    ...take,
    method: "DELETE",
    summary: "Delete a prediction with its file",
    description:
      "This cannot be undone. The output is removed from Storage shortly afterwards, so `output` in the response is null. If it was selected, the project selects none. Its events stay, and so do predictions that were made with it: their `input` keeps its id.\n\n" +
      "While it runs, or a running generation uses it as a frame, the request fails with `generation_in_progress`: cancel that generation, or wait for its end, then delete again. If a repeated request answers `not_found`, the first one succeeded.",
    errors: ["not_found", "generation_in_progress"],
    examples: [{ summary: "A take", path: takePath }],
  },
  uploadReferenceImage: {
    ...all,
    method: "POST",
    at: "/projects/reference-images",
    summary: "Upload a reference image",
    description:
      "Send a PNG, JPEG or WebP image as the body, or as the only file of a form: at most 10 MiB, 16,384 pixels per side and 100 megapixels. The content decides the type; name and Content-Type are ignored. Metadata, such as where a photo was taken, is removed; colors stay. An image must be upright: one with an Exif orientation is refused, because models do not turn it (`keyframe-client` turns it in a browser). Pass the returned `referenceImagePath` when you generate a frame, or as `firstFrameImagePath` or `lastFrameImagePath` when you generate a video. By default, an image that no prediction, project or element uses is removed after 30 days.\n\n" +
      "Every upload counts against the rate limit, even one that is refused or repeats an `Idempotency-Key`.\n\n" +
      "On `unsupported_media_type`, read the message: it says whether the image is of another kind, incomplete or not upright. On `payload_too_large`, send a smaller image.",
    body: "image",
    status: 201,
    answer: uploadedReferenceImage,
    examples: [{ summary: "The bytes of an image" }],
  },
} as const satisfies Record<string, Operation>;
