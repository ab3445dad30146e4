import { z } from "zod";

/** The three steps of a project, as in paths and in the database. */
export const STEPS = ["first-frame", "last-frame", "video"] as const;
export const step = z.enum(STEPS);
export type Step = z.infer<typeof step>;

/**
 * Any 32 hexadecimal digits. Administrators may choose the ids of rows they insert, and imported users bring theirs, so the version and
 * variant of RFC 9562 are not checked.
 */
export const id = z.guid({ error: ({ code }) => (code === "invalid_format" ? "Must be a UUID." : undefined) });

/** ISO 8601 in UTC. */
export const time = z.iso.datetime();

/** Matches a visible character: not white space, and not a character that displays may ignore. U+2800 is Braille without a dot. */
const VISIBLE = /[^\p{Cc}\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * A text that `refused` does not match. Its length is counted in code points, as Postgres does. With `least` 1 it has at least one
 * visible character. Postgres checks the same rules (keyframe_private.has_visible_character, is_plain_text, is_one_line).
 */
const textWithout = (refused: RegExp, sentence: string) => (least: 0 | 1, most: number) => {
  const problemOf = (value: string) => {
    if (refused.test(value)) return sentence;
    if (!value.isWellFormed()) return "Must be well-formed Unicode.";
    if (value.length < least) return "Must not be empty.";
    if (least === 1 && !VISIBLE.test(value)) return "Must contain a visible character.";
    return value.length <= most || [...value].length <= most ? undefined : `Must have at most ${most} characters.`;
  };
  return z
    .string()
    .refine((value) => problemOf(value) === undefined, { error: ({ input }) => problemOf(String(input)) })
    .meta({ minLength: least, maxLength: most });
};

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

export const title = line(1, 200).describe("One line with at least one visible character.");

/** The body of a change: every field is optional, and at least one is given. */
export const changeBody = <Shape extends z.ZodRawShape>(id: string, shape: Shape) =>
  z
    .strictObject(shape)
    .refine((body) => Object.values(body).some((value) => value !== undefined), {
      error: `Must have at least one of ${Object.keys(shape).join(", ")}.`,
    })
    .meta({ id, minProperties: 1 });

/** A list in which nothing is twice. */
export const listOf = (
  item: z.ZodString | typeof id,
  most: number,
  tooMany = `Must have at most ${most}.`,
  twice = "Must not contain one twice.",
) =>
  z
    .array(item)
    .max(most, tooMany)
    .refine((all) => new Set(all.map((one) => one.toLowerCase())).size === all.length, twice)
    .meta({ uniqueItems: true });

/** An optional parameter of a query with one value. */
export const only = <Value extends string>(value: Value, description: string) =>
  z
    .literal(value, { error: `Must be ${value}.` })
    .optional()
    .describe(description);

/** What an Idempotency-Key and the key of a credit look like. */
export const visibleAscii = z.string().regex(/^[\x21-\x7e]{1,255}$/, "Must have 1 to 255 visible ASCII characters.");

export const imagePath = z
  .string()
  .regex(/^projects\/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/, "Must have the shape projects/<file_name>.")
  .refine((path) => !path.includes(".."), "Must not contain '..'.");
export const referenceImagePath = imagePath.describe(
  "The path of a reference image, as returned by the upload: projects/<file_name>.",
);

/** The body of paths that take no fields. */
export const noFields = z.strictObject({});

const LIMIT_SENTENCE = "Must be a whole number from 1 to 100.";

/** Parsed from text, because a query string has no numbers. */
const limit = z
  .string()
  .regex(/^\d{1,3}$/, LIMIT_SENTENCE)
  .transform(Number)
  .refine((rows) => rows >= 1 && rows <= 100, LIMIT_SENTENCE)
  .default(20)
  .meta({
    description: "The maximum number of items per page.",
    override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
      delete jsonSchema.pattern; // the pattern of the text that the number is read from
      Object.assign(jsonSchema, { type: "integer", minimum: 1, maximum: 100, default: 20 });
    },
  });

const cursor = z.string().optional().describe("The nextCursor of the previous page. Omit it for the first page.");

export const pageFields = { limit, cursor };
export const pageQuery = z.strictObject(pageFields);

export const nextCursor = z.string().nullable().describe("The cursor of the next page; null on the last one. Opaque.");
