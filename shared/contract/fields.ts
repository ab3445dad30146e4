import { z } from "zod";

/** The three steps of a project, as they stand in paths and in the database. */
export const STEPS = ["first-frame", "last-frame", "video"] as const;
export const step = z.enum(STEPS);
export type Step = z.infer<typeof step>;

/**
 * An identifier as Postgres writes it: any 32 hexadecimal digits. Administrators may choose those of rows they insert, and whoever is
 * imported into Auth brings one, so a version and a variant of RFC 9562 must not be asked for.
 */
export const id = z.guid({ error: ({ code }) => (code === "invalid_format" ? "Must be a UUID." : undefined) });

/** ISO 8601 in UTC. */
export const time = z.iso.datetime();

/** A text of so many characters (code points, as Postgres counts them). NUL is refused: Postgres cannot store it. */
export const text = (least: number, most: number) =>
  z
    .string()
    .refine((value) => !value.includes("\0"), "Must not contain the NUL character.")
    .refine((value) => value.isWellFormed(), "Must be well-formed Unicode.")
    .refine(
      (value) => [...value].length >= least,
      least === 1 ? "Must not be empty." : `Must have at least ${least} characters.`,
    )
    .refine((value) => value.length <= most || [...value].length <= most, `Must have at most ${most} characters.`)
    .meta({ minLength: least, maxLength: most });

/** Where a reference image lies in the bucket `projects`: projects/<file_name>. */
export const referenceImagePath = z
  .string()
  .regex(/^projects\/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/, "Must have the shape projects/<file_name>.")
  .refine((path) => !path.includes(".."), "Must not contain '..'.")
  .meta({ description: "Where a reference image lies: projects/<file_name>, as the upload answered." });

/** The body of paths that take no fields. */
export const noFields = z.strictObject({});
