import type { InputSchema } from "./input-schema.ts";

/** A rule that a model keeps and its published schema does not say. */
export type Rule =
  | { rule: "needs"; field: string; other: string; value?: string }
  | { rule: "excludes"; fields: readonly string[]; others: readonly string[] }
  | { rule: "limits"; field: string; value: string; other: string; allowed: readonly (string | number)[] }
  /** The list holds so many at most. */
  | { rule: "at most"; field: string; items: number }
  /** The model takes the field but does nothing with it when the other one is filled. */
  | { rule: "ignores"; field: string; when: string };

/** What the simulator has to know of a model besides its published schema. */
export type Behaviour = {
  about: string;
  /** What `output` is: one URL of an image, an array of such URLs, or one URL of a video. */
  output: "image" | "images" | "video";
  /** Fields that hold the first and last frame of a video, and the references of an image. */
  firstFrame?: string;
  lastFrame?: string;
  references?: string;
  rules?: readonly Rule[];
};

export type Model = Behaviour & {
  input: InputSchema;
  /** The OpenAPI document the API shows. */
  openapi: object;
};
