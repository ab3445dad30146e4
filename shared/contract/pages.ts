import { z } from "zod";

const SENTENCE = "Must be a whole number from 1 to 100.";

/** How many rows a page has. A query string holds text, so it is read from text. */
const limit = z
  .string()
  .regex(/^\d{1,3}$/, SENTENCE)
  .transform(Number)
  .refine((rows) => rows >= 1 && rows <= 100, SENTENCE)
  .default(20)
  .meta({
    description: "How many a page has at most.",
    override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
      delete jsonSchema.pattern; // of the text that the number is read from
      Object.assign(jsonSchema, { type: "integer", minimum: 1, maximum: 100, default: 20 });
    },
  });

const cursor = z
  .string()
  .optional()
  .meta({ description: "The nextCursor of the page before; absent for the first page." });

/** The query of every list: newest first, page by page. */
export const pageQuery = { limit, cursor };

/** Where the next page begins; null on the last one. Opaque. */
export const nextCursor = z
  .string()
  .nullable()
  .meta({ description: "Where the next page begins; null on the last one." });
