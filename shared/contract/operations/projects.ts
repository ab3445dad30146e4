import { uploadedReferenceImage } from "../predictions.ts";
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

export const projectOperations = {
  createProject: {
    method: "POST",
    at: "/projects",
    tag: "Projects",
    summary: "Create a project",
    description: "Sends `project.created` to your webhooks.",
    caller: "session",
    body: createProjectBody,
    status: 201,
    answer: project,
    examples: [
      {
        summary: "A film in the making",
        body: {
          title: "Harbour",
          textPrompt: "A harbour at dawn, fog, one red boat",
          description: "Keep the colours of the reference image.",
        },
      },
      { summary: "The least there must be", body: { title: "Harbour", textPrompt: "A harbour at dawn" } },
    ],
  },
  listProjects: {
    method: "GET",
    at: "/projects",
    tag: "Projects",
    summary: "List your projects, newest first",
    caller: "session",
    query: listProjectsQuery,
    status: 200,
    answer: projectPage,
    examples: [
      { summary: "The newest 20" },
      { summary: "With what was generated for each", query: { limit: "10", include: "predictions" } },
    ],
  },
  readProject: {
    method: "GET",
    at: "/projects/:projectId",
    tag: "Projects",
    summary: "Read a project with the latest prediction of each step",
    caller: "session",
    path: projectPath,
    status: 200,
    answer: projectWithPredictions,
    errors: ["not_found"],
    examples: [{ summary: "One project", path }],
  },
  changeProject: {
    method: "PATCH",
    at: "/projects/:projectId",
    tag: "Projects",
    summary: "Change a project",
    description: "What is absent stays as it is. Predictions keep the prompt they were started with.",
    caller: "session",
    path: projectPath,
    body: changeProjectBody,
    status: 200,
    answer: project,
    errors: ["not_found"],
    examples: [{ summary: "Another title", path, body: { title: "Harbour, second draft" } }],
  },
  deleteProject: {
    method: "DELETE",
    at: "/projects/:projectId",
    tag: "Projects",
    summary: "Delete a project with its predictions and files",
    description:
      "The files go from Storage a moment later: what was generated, and reference images that no other project of yours uses.",
    caller: "session",
    path: projectPath,
    status: 200,
    answer: project,
    errors: ["not_found", "generation_in_progress"],
    examples: [{ summary: "Gone for good", path }],
  },
  listPredictions: {
    method: "GET",
    at: "/projects/:projectId/predictions",
    tag: "Projects",
    summary: "List the predictions of a project, newest first",
    caller: "session",
    path: projectPath,
    query: listPredictionsQuery,
    status: 200,
    answer: predictionPage,
    errors: ["not_found"],
    examples: [
      { summary: "Everything that ran", path },
      { summary: "The videos", path, query: { step: "video", limit: "5" } },
    ],
  },
  uploadReferenceImage: {
    method: "POST",
    at: "/projects/reference-images",
    tag: "Projects",
    summary: "Upload a reference image",
    description:
      "PNG, JPEG or WebP of at most 10 MiB, as the body itself or as the one file of a form. What kind it is, its bytes say. " +
      "Metadata, such as where a photo was taken, is removed; its orientation and its colours stay. A damaged image is refused. " +
      "An image that no prediction uses is removed after a month.",
    caller: "session",
    body: "image",
    status: 201,
    answer: uploadedReferenceImage,
    examples: [{ summary: "The bytes of an image" }],
  },
} as const satisfies Record<string, Operation>;
