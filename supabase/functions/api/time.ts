import { z } from "zod";

/** A timestamptz as Postgres writes it in JSON, brought into ISO 8601 in UTC with milliseconds. */
export const isoTime = z.iso.datetime({ offset: true }).transform((time) => new Date(time).toISOString());
