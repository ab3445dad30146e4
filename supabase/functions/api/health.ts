import { z } from "zod";
import { ApiError } from "../../../shared/errors.ts";
import type { Handler } from "./call.ts";
import { unavailable } from "./failures.ts";

const databaseHealth = z.object({ now: z.string() });

/** GET /api/health: 200 when the database answers, else 503. Needs no session and tells nothing but that. */
export const readHealth: Handler<"readHealth"> = async (_call, { database }) => {
  try {
    await database("health", {}, null, databaseHealth);
  } catch (error) {
    // Whatever keeps the database from answering (also a missing migration or a wrong key), the service is not up.
    if (!(error instanceof ApiError)) throw unavailable(error);
    // An error's sentence can hold the database's words; its cause is codes only.
    throw error.code === "unavailable" ? error : unavailable(error.extra.cause);
  }
  return { data: { status: "ok", database: "ok" } };
};
