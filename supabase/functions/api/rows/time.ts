import { z } from "zod";

/** A moment as Postgres writes it, in ISO 8601 in UTC with milliseconds. */
export const toIso = (time: string): string => new Date(time).toISOString();

/** A timestamptz as Postgres writes it in JSON, brought into that form. */
export const isoTime = z.iso.datetime({ offset: true }).transform(toIso);
