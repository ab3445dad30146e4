import { z } from "zod";
import { serviceFigures, type ServiceFigures } from "../../../shared/contract/service.ts";
import { ApiError } from "../../../shared/errors.ts";
import type { Handler, Needs } from "./call.ts";
import { unavailable } from "./failures.ts";

const databaseHealth = z.object({ now: z.string() });

/** GET /api/health: 200 when the database answers, else 503. Tells anybody that, and with deep=1 the project more. */
export const readHealth: Handler<"readHealth"> = async ({ query, headers }, needs) => {
  if (query.deep !== undefined) {
    const figures = await readFigures(headers, needs);
    return { data: { status: "ok", database: "ok", figures } };
  }
  await askDatabase(() => needs.database("health", {}, null, databaseHealth));
  return { data: { status: "ok", database: "ok" } };
};

/** How the service fares, for who has the project's secret key. Throws ApiError: unauthorized, unavailable. */
export async function readFigures(
  headers: Headers,
  needs: Pick<Needs, "database" | "verifyProject">,
): Promise<ServiceFigures> {
  const secretKey = await needs.verifyProject(headers);
  return await askDatabase(() => needs.database("service_figures", {}, secretKey, serviceFigures));
}

async function askDatabase<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    // Whatever keeps the database from answering (also a missing migration or a wrong key), the service is not up.
    if (!(error instanceof ApiError)) throw unavailable(error);
    // An error's sentence can hold the database's words; its cause is codes only.
    throw error.code === "unavailable" ? error : unavailable(error.extra.cause);
  }
}
