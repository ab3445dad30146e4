import { z } from "zod";
import { ApiError } from "../../../shared/errors.ts";
import type { Needs } from "./call.ts";
import { unavailable } from "./failures.ts";
import type { Answer } from "./respond.ts";

const databaseHealth = z.object({ now: z.string() });

/** GET /api/health: 200 when the database answers, else 503. Needs no session and tells nothing but that. */
export async function readHealth({ database }: Needs): Promise<Answer> {
  try {
    await database("health", {}, null, databaseHealth);
  } catch (error) {
    // Whatever keeps the database from answering (also a missing migration or a wrong key), the service is not up.
    throw error instanceof ApiError && error.code === "unavailable" ? error : unavailable(error);
  }
  return { status: 200, data: { status: "ok", database: "ok" } };
}
