import { type ServiceFigures, serviceFigures } from "../../contract/service.ts";
import { ApiError } from "../../http/errors.ts";
import { describeError } from "../../platform/log.ts";
import { SCHEMA_VERSION } from "../../platform/schema-version.ts";
import type { Caller } from "../auth/verify-session.ts";
import { schemaOutdated, type UpstreamFailure, unavailable } from "../errors.ts";
import type { Writes } from "../runbook/database-problems.ts";
import { noticesOf, problemsOf } from "../runbook/problems.ts";
import type { Deps, Handler } from "./handler.ts";

export const isOlder = (version: string, than: string) => version.localeCompare(than, "en", { numeric: true }) < 0;

/**
 * GET /api/health: 200 when the database has this version's migrations and its tables can be written, else 503. With deep=1 and the secret
 * key the answer has the figures and the problems. With problems it is `degraded`, still with 200 so that the figures are in the envelope.
 */
export const readHealth: Handler<"readHealth"> = async ({ query, headers }, deps) => {
  const project = query.deep === undefined ? null : await deps.verifyProject(headers);
  // Both run at once, because each may wait for a lock.
  const [{ schema: schemaVersion, writes }, figures] = await Promise.all([
    project === null ? askDatabase(deps.askHealth) : askHealthAnyway(deps),
    project === null ? undefined : readFigures(project, deps),
  ]);
  if (figures === undefined && writes !== "ok") {
    throw unavailable({ from: "database", operation: "health", status: 200, code: writes });
  }
  // While a table is locked, or without an answer, the version is not known.
  const saysVersion = writes !== "locked" && typeof writes === "string";
  if (schemaVersion === null ? saysVersion : isOlder(schemaVersion, SCHEMA_VERSION)) {
    throw schemaOutdated({ from: "database", operation: "health", has: schemaVersion, needs: SCHEMA_VERSION });
  }
  if (figures === undefined) return { data: { status: "ok", database: "ok", schemaVersion } };
  const problems = problemsOf(figures, writes, deps.platformUrl);
  const status = problems.length === 0 ? "ok" : "degraded";
  const notices = noticesOf(figures, deps.refusals.named());
  return { data: { status, database: "ok", schemaVersion, problems, notices, figures } };
};

/** Throws unavailable. */
export const readFigures = (project: Caller, { database }: Pick<Deps, "database">): Promise<ServiceFigures> =>
  askDatabase(() => database.read("service_figures", {}, project, serviceFigures, "keyframe_worker"));

/** Used by deep health, because the figures may be readable although this call fails. */
async function askHealthAnyway({ askHealth, log }: Deps): Promise<{ schema: string | null; writes: Writes }> {
  try {
    return await askHealth();
  } catch (error) {
    const cause = error instanceof ApiError ? error.extra.cause : undefined;
    const { status, code } = Object(cause) as Partial<UpstreamFailure>; // what databaseError gives
    const failed = status === undefined ? describeError(error) : `status ${status}, code ${code || "none"}`;
    log.warn("health_failed", { reason: failed });
    return { schema: null, writes: { failed } };
  }
}

async function askDatabase<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    // A wrong key gets this answer too, because the service is down in any case.
    if (!(error instanceof ApiError)) throw unavailable(error);
    // The error's message can contain text of the database; its cause has codes only.
    throw error.status === 503 ? error : unavailable(error.extra.cause);
  }
}
