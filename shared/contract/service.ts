import { z } from "zod";

/** Answer of GET /api/health; without a database it is 503. */
export const health = z.object({ status: z.literal("ok"), database: z.literal("ok") }).meta({ id: "Health" });
export type Health = z.infer<typeof health>;
