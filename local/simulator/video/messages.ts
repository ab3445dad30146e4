import type { FilmPlan } from "./film-plan.ts";

/** What the main thread asks of the video worker. Frames are encoded images (PNG, JPEG, WebP). */
export type FilmJob = { job: number; plan: FilmPlan; first: Uint8Array; last: Uint8Array | null };
export type ToWorker = { type: "encode"; film: FilmJob } | { type: "cancel"; job: number };

/** What the worker answers: progress after some frames, then the MP4 or an error; nothing more after a cancel. */
export type FromWorker =
  | { type: "progress"; job: number; frame: number }
  | { type: "done"; job: number; mp4: Uint8Array<ArrayBuffer> }
  | { type: "failed"; job: number; error: string };
