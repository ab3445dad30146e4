import { z } from "zod";

const SENTENCE = "Must be a whole number from 1 to 100.";

/** Parsed from text, because a query string has no numbers. */
const limit = z
  .string()
  .regex(/^\d{1,3}$/, SENTENCE)
  .transform(Number)
  .refine((rows) => rows >= 1 && rows <= 100, SENTENCE)
  .default(20)
  .meta({
    description: "The maximum number of items per page.",
    override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
      delete jsonSchema.pattern; // of the text that the number is read from
      Object.assign(jsonSchema, { type: "integer", minimum: 1, maximum: 100, default: 20 });
    },
  });

const cursor = z
  .string()
  .optional()
  .meta({ description: "The nextCursor of the previous page. Omit it for the first page." });

export const pageQuery = { limit, cursor };

export const nextCursor = z
  .string()
  .nullable()
  .meta({ description: "The cursor of the next page; null on the last one. Opaque." });
