/** One input field of a model, as its JSON schema on Replicate has it. */
export type Field = {
  type: "string" | "integer" | "boolean" | "file" | "files";
  required?: true;
  /** The only values allowed. */
  values?: readonly (string | number)[];
  /** Smallest and largest number allowed. */
  min?: number;
  max?: number;
  /** Largest number of files in a list. */
  maxItems?: number;
  default?: string | number | boolean;
};

/** A rule between fields. */
export type Rule =
  | { rule: "needs"; field: string; other: string; value?: string }
  | { rule: "excludes"; fields: readonly string[]; others: readonly string[] }
  | { rule: "limits"; field: string; value: string; other: string; allowed: readonly (string | number)[] }
  /** The model takes the field but does nothing with it when the other one is filled. */
  | { rule: "ignores"; field: string; when: string };

export type Model = {
  about: string;
  /** What `output` is: one URL of an image, an array of such URLs, or one URL of a video. */
  output: "image" | "images" | "video";
  /** Fields that hold the first and last frame of a video, and the references of an image. */
  firstFrame?: string;
  lastFrame?: string;
  references?: string;
  fields: Readonly<Record<string, Field>>;
  rules?: readonly Rule[];
};
