import { z } from "zod";

/** A row that could not be claimed or written. Its message stays in the database, because it may contain data. */
export const setAside = z.object({ kind: z.string(), id: z.string(), code: z.string(), failures: z.int() });
