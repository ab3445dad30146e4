import type { OutputBytes } from "../outputs.ts";

/** What a picture shows. References are encoded images (PNG, JPEG, WebP); `format` is the input's own word, PNG when it is none. */
export type Picture = { prompt: string; width: number; height: number; references: Uint8Array[]; format: unknown };

/** What the main thread asks of the drawing worker, and what it answers: the file, or an error. */
export type ToPainter = { job: number; picture: Picture };
export type FromPainter =
  | { type: "done"; job: number; output: OutputBytes }
  | { type: "failed"; job: number; error: string };
