import { z } from "zod";

/** The three steps of a project, as they stand in paths and in the database. */
export const STEPS = ["first-frame", "last-frame", "video"] as const;
export const step = z.enum(STEPS);
export type Step = z.infer<typeof step>;

/**
 * An identifier as Postgres writes it: any 32 hexadecimal digits. Administrators may choose those of rows they insert, and users who
 * are imported into Auth bring one, so a version and a variant of RFC 9562 must not be asked for.
 */
export const id = z.guid({ error: ({ code }) => (code === "invalid_format" ? "Must be a UUID." : undefined) });

/** ISO 8601 in UTC. */
export const time = z.iso.datetime();

/** A visible character: not white space, and not one that Unicode lets a display ignore. U+2800 is Braille without a dot. */
const VISIBLE = /[^\p{Cc}\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * A text without what `refused` finds, of so many characters (code points, as Postgres counts them). One that must not be
 * empty has at least one visible character. Postgres checks the same (keyframe_private.has_visible_character and its neighbours).
 */
const textWithout = (refused: RegExp, sentence: string) => (least: 0 | 1, most: number) =>
  z
    .string()
    .refine((value) => !refused.test(value), { error: sentence, abort: true })
    .refine((value) => value.isWellFormed(), "Must be well-formed Unicode.")
    .refine((value) => value.length >= least, { error: "Must not be empty.", abort: true })
    .refine((value) => least === 0 || VISIBLE.test(value), "Must contain a visible character.")
    .refine((value) => value.length <= most || [...value].length <= most, `Must have at most ${most} characters.`)
    .meta({ minLength: least, maxLength: most });

/** A text of several lines. */
export const text = textWithout(
  /(?![\t\n\r])\p{Cc}/u,
  "Must not contain control characters other than tabs and line breaks.",
);

/** A text of one line. Bidirectional overrides are refused: they change the direction of the text that follows. */
export const line = textWithout(
  /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u,
  "Must be one line without control characters and bidirectional overrides.",
);

/** Where a reference image lies in the bucket `projects`: projects/<file_name>. */
export const referenceImagePath = z
  .string()
  .regex(/^projects\/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/, "Must have the shape projects/<file_name>.")
  .refine((path) => !path.includes(".."), "Must not contain '..'.")
  .meta({ description: "Where a reference image lies: projects/<file_name>, as the upload answered." });

/** The body of paths that take no fields. */
export const noFields = z.strictObject({});
