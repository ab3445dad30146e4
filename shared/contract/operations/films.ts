import { estimateQuery } from "../costs.ts";
import { pageQuery } from "../fields.ts";
import {
  changeFilmBody,
  createFilmBody,
  deleteFilmQuery,
  film,
  filmEstimate,
  filmPage,
  filmPath,
  filmStepPath,
  filmWithShots,
  startedFilm,
  startFilmBody,
} from "../films.ts";
import { SAMPLE } from "../samples.ts";
import { OF_STARTS, OVER_BUDGET } from "./generation.ts";
import type { Operation } from "./operation.ts";

const path = { filmId: SAMPLE.filmId };
const all = { at: "/films", tag: "Films", caller: "session" } as const;
const one = { ...all, at: "/films/:filmId", path: filmPath, status: 200 } as const;

const ofShots = {
  ...all,
  method: "POST",
  path: filmStepPath,
  body: startFilmBody,
  bodyMayBeEmpty: true,
  examples: [{ summary: "The videos", path: { ...path, step: "video" }, body: { durationSeconds: 5 } }],
} as const;

export const filmOperations = {
  createFilm: {
    ...all,
    method: "POST",
    summary: "Create a film",
    description:
      "Saves a film without shots. Create its projects with `filmId`, or put existing ones into it (`projectIds`). Nothing is charged by the provider, and no event is sent.\n\n" +
      "After a timeout or a 5xx, repeat the request with the same `Idempotency-Key`: one film is created.",
    body: createFilmBody,
    status: 201,
    answer: film,
    versioned: true,
    examples: [
      { summary: "With a title", body: { title: "The pier" } },
      { summary: "With a cast", body: { title: "The pier", elementIds: [SAMPLE.elementId] } },
    ],
  },
  listFilms: {
    ...all,
    method: "GET",
    summary: "List your films, newest first",
    description:
      "Returns one page. Pass `nextCursor` as `cursor` to read the next page; it is null on the last one.\n\n" +
      "If a cursor is refused with `invalid_request`, start again without it.",
    query: pageQuery,
    status: 200,
    answer: filmPage,
    examples: [{ summary: "The newest 20" }],
  },
  readFilm: {
    ...one,
    method: "GET",
    summary: "Read a film with its shots",
    description:
      "`shots` has the film's projects in order, each as its own read returns it: with `takes`, the frames and the video to show, and `predictions`, which say what runs or why it failed. Only `input.elements` is missing: read the prediction for it. The URLs of their outputs are valid for at least 15 minutes.\n\n" +
      "A film that does not exist and a film of another user are both `not_found`.",
    answer: filmWithShots,
    versioned: true,
    errors: ["not_found"],
    examples: [{ summary: "One film", path }],
  },
  changeFilm: {
    ...one,
    method: "PATCH",
    summary: "Change a film, or the order of its shots",
    description:
      "Send at least one field; fields you leave out keep their value. `projectIds` is the whole list: a project that is not in it leaves the film, and is not deleted.\n\n" +
      "Send `If-Match` with the film's ETag, so that you do not remove a shot that someone else added: the request fails with `precondition_failed` if the film has changed since. Read it again.\n\n" +
      "After a timeout or a 5xx, repeat the request: the result is the same. With `If-Match` it can answer `precondition_failed` because the first one succeeded: read the film.",
    body: changeFilmBody,
    answer: film,
    versioned: true,
    errors: ["not_found", "precondition_failed"],
    examples: [
      { summary: "Its only shot", path, body: { projectIds: [SAMPLE.projectId] } },
      { summary: "Another title", path, body: { title: "The pier, second draft" } },
    ],
  },
  startFilm: {
    ...ofShots,
    at: "/films/:filmId/generate/:step",
    summary: "Generate a step for the shots that are missing it",
    description:
      "Starts the step for each shot that has neither a take of it nor a running prediction, in the order of the film: for all or for none. If a shot cannot start, such as a video without a first frame, the request fails before anything is charged: `message` names each such shot by its number in the film, and the estimate has the reason of each. Leave them out with `projectIds`. Each shot counts as one start for the rate limit, ten shots of a refused request as one, and waits for a slot like any other.\n\n" +
      "At most 60 shots start at once: repeat the request with a new key until `predictions` is empty. After a timeout or a 5xx, repeat it with the same `Idempotency-Key`: nothing is charged twice.",
    status: 202,
    answer: startedFilm,
    errors: [...OF_STARTS, "frame_not_ready"],
  },
  estimateFilm: {
    ...ofShots,
    at: "/films/:filmId/generate/:step/estimate",
    summary: "Estimate the cost of the missing shots of a film",
    description:
      "Send the body of the start. `shots` has each shot that it would start, with `error` if it cannot; the amounts are the sum of the others. Nothing is stored, started or charged; each shot counts as a read.\n\n" +
      "With `quote=true` it holds the price of the shots that can start for ten minutes. Start them, all or none, with `POST /api/projects/generate/quote`. `quoteId` is null if none can start.",
    query: estimateQuery,
    changesNothing: true,
    status: 200,
    answer: filmEstimate,
    errors: ["not_found", ...OVER_BUDGET],
  },
  deleteFilm: {
    ...one,
    method: "DELETE",
    summary: "Delete a film",
    description:
      "Its projects stay, without a film. With `?projects=delete` they are deleted too, with their predictions and files; this cannot be undone. While a generation of one of them runs, that request fails with `generation_in_progress` and deletes nothing.\n\n" +
      "With `If-Match` and the film's ETag, it fails with `precondition_failed` if the film has changed since. If a repeated request answers `not_found`, the first one succeeded.",
    query: deleteFilmQuery,
    answer: film,
    errors: ["not_found", "generation_in_progress", "precondition_failed"],
    examples: [
      { summary: "Only the film", path },
      { summary: "With its projects", path, query: { projects: "delete" } },
    ],
  },
} as const satisfies Record<string, Operation>;
