import { z } from "zod";
import { serviceFigures, type ServiceFigures } from "../../../../shared/contract/service.ts";
import { ApiError } from "../../../../shared/http/errors.ts";
import type { Handler, Needs } from "../call.ts";
import { unavailable } from "../failures.ts";
import { problemsOf } from "./health-problems.ts";

const databaseHealth = z.object({ now: z.string() });

/**
 * GET /api/health: 200 when the database answers, else 503. Tells anybody that, and with deep=1 the project more: figures, and
 * what does not work although the service answers. That is `degraded`, and 200 all the same, so that the figures come with it.
 */
export const readHealth: Handler<"readHealth"> = async ({ query, headers }, needs) => {
  if (query.deep !== undefined) {
    const figures = await readFigures(headers, needs);
    const problems = problemsOf(figures);
    return { data: { status: problems.length === 0 ? "ok" : "degraded", database: "ok", problems, figures } };
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
