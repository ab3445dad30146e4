import { z } from "zod";
import {
  type LastKick,
  type ServiceFigures,
  serviceFigures,
  type WorkerFigures,
} from "../../../../shared/contract/service.ts";
import { ApiError } from "../../../../shared/http/errors.ts";
import { SCHEMA_VERSION } from "../../../../shared/platform/schema-version.ts";
import type { Handler, Deps } from "../call.ts";
import { schemaOutdated, unavailable } from "../failures.ts";

const databaseHealth = z.object({ now: z.string(), schema: z.string().nullish() });

export const isOlder = (version: string, than: string) => version.localeCompare(than, "en", { numeric: true }) < 0;

/**
 * GET /api/health: 200 when the database answers and has this version's migrations, else 503. With deep=1 and the secret
 * key the answer has the figures and the problems. With problems it is `degraded`, still with 200 so that the figures are in the envelope.
 */
export const readHealth: Handler<"readHealth"> = async ({ query, headers }, deps) => {
  const figures = query.deep === undefined ? undefined : await readFigures(headers, deps);
  const { schema: schemaVersion } = await askDatabase(() => deps.database("health", {}, null, databaseHealth));
  if (!schemaVersion || isOlder(schemaVersion, SCHEMA_VERSION)) {
    throw schemaOutdated({ from: "database", operation: "health", has: schemaVersion, needs: SCHEMA_VERSION });
  }
  if (figures === undefined) return { data: { status: "ok", database: "ok", schemaVersion } };
  const problems = problemsOf(figures);
  const status = problems.length === 0 ? "ok" : "degraded";
  return { data: { status, database: "ok", schemaVersion, problems, figures } };
};

/** Requires the project's secret key. Throws ApiError: unauthorized, unavailable. */
export async function readFigures(
  headers: Headers,
  deps: Pick<Deps, "database" | "verifyProject">,
): Promise<ServiceFigures> {
  const secretKey = await deps.verifyProject(headers);
  return await askDatabase(() => deps.database("service_figures", {}, secretKey, serviceFigures));
}

async function askDatabase<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    // Also for a wrong key: the service is down in each case.
    if (!(error instanceof ApiError)) throw unavailable(error);
    // The error's message can contain text of the database; its cause has codes only.
    throw error.status === 503 ? error : unavailable(error.extra.cause);
  }
}

/** Twelve missed sweeps. */
const NO_SWEEP_SECONDS = 60;

/**
 * pg_net sends within a second or two of the commit, and a worker claims within moments of the kick that it accepts, even after a cold
 * start; the sweep kicks every five seconds.
 */
const SOON_SECONDS = 20;
/** Calls take milliseconds. Their figure is the worker's last word, so it counts only while the worker is there. */
const SLOW_CALL_SECONDS = 1;
const PRESENT_SECONDS = 60;
/** Of 400. A few slow receivers delay no others. */
const MANY_SLOW_REQUESTS = 10;

/** What does not work although the service answers, and what to do about it. Empty when all is well. */
export function problemsOf(figures: ServiceFigures): string[] {
  const { deliveries, kicks, lastKicks, workers, transactions, sweep } = figures;
  const problems: string[] = [...figures.unavailableModels.map(modelProblem), ...costProblems(figures.costs)];
  const { oldestUnsentSeconds, othersUnsent, servedDatabase } = kicks;
  const isUnsent = oldestUnsentSeconds !== null && oldestUnsentSeconds >= SOON_SECONDS;
  for (const name of ["generate", "deliver"] as const) {
    // A worker is not to blame for a kick that was not sent.
    const isWaiting = isUnsent && lastKicks[name].outcome === "unanswered";
    if (!isWaiting && kickWorks(lastKicks[name], workers[name]) === false) {
      problems.push(kickProblem(name, lastKicks[name], workers[name]));
    }
    const { claimedSeconds, callSeconds } = workers[name];
    if (
      callSeconds !== null &&
      callSeconds >= SLOW_CALL_SECONDS &&
      (claimedSeconds ?? PRESENT_SECONDS) < PRESENT_SECONDS
    ) {
      problems.push(
        `${name} waits ${callSeconds.toFixed(1)} s for a call of the database: its work is late. Look at the load of Postgres, the connections of the Data API (PGRST_DB_POOL), and the network between them; if jit is on, switch it off for the role authenticator.`,
      );
    }
  }
  const { slowRequests, claimedSeconds } = workers.deliver;
  if (slowRequests >= MANY_SLOW_REQUESTS && (claimedSeconds ?? PRESENT_SECONDS) < PRESENT_SECONDS) {
    problems.push(
      `${slowRequests} of 400 requests of deliver have been open for over 3 s: receivers are slow. Their owners wait, others do not. keyframe_private.admin_webhook_health shows whose deliveries are due; disable such an endpoint if it stays slow.`,
    );
  }
  if (deliveries.unsignedEndpoints > 0) {
    problems.push(
      `${deliveries.unsignedEndpoints} webhook endpoints cannot be signed for: their secret in the Vault is missing or cannot be decrypted, as after a restore under another key. They are those with last_error = 'not_signed' in keyframe_private.admin_webhook_health. Restore the Vault's key, or rotate their secrets.`,
    );
  }
  const { oldestSeconds, pid, role, tables } = transactions;
  if (oldestSeconds !== null) {
    problems.push(
      `A transaction of ${role} has been open for ${Math.round(oldestSeconds)} s and holds rows of ${tables}: what they belong to waits. Commit it, or end it with "select pg_terminate_backend(${pid})".`,
    );
  }
  if (servedDatabase !== null) {
    problems.push(
      `pg_net sends no kick from here: pg_net.database_name is ${servedDatabase}, another database. Set it to this one in postgresql.conf and restart Postgres.`,
    );
  } else if (isUnsent) {
    const since = `pg_net has had a kick for ${Math.round(oldestUnsentSeconds)} s without sending it`;
    problems.push(
      othersUnsent > 0
        ? `${since}: it is busy with ${othersUnsent} requests of other senders (net.http_request_queue). A slow one holds up 200: give them short timeouts.`
        : `${since}: wake it with "select net.worker_restart()".`,
    );
  }
  if (!sweep.scheduled) {
    problems.push("pg_cron does not have the job keyframe-sweep, or it is switched off: deploy again.");
  } else if (sweep.lastSuccessSeconds === null || sweep.lastSuccessSeconds > NO_SWEEP_SECONDS) {
    problems.push(
      "The sweep has not succeeded lately: cron.job_run_details says why (connection failed: pg_cron has to connect without a password, or needs cron.use_background_workers = on). If it is empty, pg_cron is off.",
    );
  }
  return problems;
}

/** A budget is used up when not even a start with the cheapest default model fits. */
function costProblems({ today, month, cheapestStartMicros, spendingStopped }: ServiceFigures["costs"]): string[] {
  const problems = spendingStopped
    ? [
        "Spending is stopped: starts are refused with spending_stopped, and those in line wait. Allow it again: update keyframe_private.settings set spending_stopped = false.",
      ]
    : [];
  for (const [period, column, { budgetMicros, leftMicros }] of [
    ["day", "service_day_micros", today],
    ["month", "service_month_micros", month],
  ] as const) {
    if (budgetMicros === null || leftMicros === null || leftMicros >= (cheapestStartMicros ?? 1)) continue;
    const [left, budget] = [leftMicros, budgetMicros].map((micros) => (micros / 1_000_000).toFixed(2));
    problems.push(
      `The service's budget of this ${period} is used up: $${left} of $${budget} is left. Starts are refused with budget_exceeded until the next ${period} (UTC). Raise it (update keyframe_private.settings set ${column} = …, in micro-dollars), or see keyframe_private.admin_costs for who spent it.`,
    );
  }
  return problems;
}

function modelProblem(gone: ServiceFigures["unavailableModels"][number]): string {
  const { step, model, reason, isDefault, successor } = gone;
  const row = `where step = '${step}' and model = '${model}'`;
  const why = reason === "ended" ? "its shutdown_at has passed" : "the provider answered that it does not know it";
  const effect = !isDefault
    ? ""
    : successor === null
      ? " Starts of this step are refused with model_unavailable."
      : ` Starts use ${successor}.`;
  const change = isDefault
    ? `Choose another default (update keyframe.step_defaults set model = '…' where step = '${step}')`
    : `Switch it off (update keyframe.models set enabled = false ${row})`;
  const back =
    reason === "ended"
      ? "or correct its shutdown_at if the vendor has put that off"
      : `or, if the provider has it again, update keyframe.models set refused_at = null ${row}`;
  return `The model ${model} of the step ${step} is not available: ${why}.${effect} ${change}, ${back}.`;
}

function kickProblem(name: string, { outcome, status, error }: LastKick, { oldestKickSeconds }: WorkerFigures): string {
  const why = (error ?? "unknown reason").replace(/\.$/, "");
  switch (outcome) {
    case "not_made":
      return `No kick to ${name} could be made (${why}). Deploy again: that fills the Vault.`;
    case "accepted":
    case "unanswered":
      return `${name} has not claimed work since a kick ${Math.round(oldestKickSeconds ?? 0)} s ago: its log says why (call_failed).`;
    case "answered":
      return `The last kick to ${name} was answered ${status}: ${byStatus(name, status)}`;
    default:
      return `The last kick to ${name} got no answer (${why}): its log says why. No line there: keyframe_functions_url in the Vault is wrong, or the functions are away.`;
  }
}

function byStatus(name: string, status: number | null): string {
  if (status === 401 || status === 403) {
    return `keyframe_kick_secret in the Vault is not KEYFRAME_KICK_SECRET of the functions, or ${name} was deployed with verify_jwt. Deploy again; if it stays so, their clocks are minutes apart.`;
  }
  if (status === 404) return `keyframe_functions_url in the Vault is wrong, or ${name} is not deployed. Deploy again.`;
  if (status !== null && status >= 500) return `${name} fails. Its log says why.`;
  return `another server answers there. keyframe_functions_url in the Vault is wrong: deploy again.`;
}

/** Whether kicks reach a worker; null when unknown. */
export function kickWorks(
  { outcome, acknowledgedAfterSeconds }: LastKick,
  { oldestKickSeconds }: WorkerFigures,
): boolean | null {
  // A claim proves that the kick arrived, whatever pg_net saw: a function that starts slowly answers too late for pg_net.
  if (acknowledgedAfterSeconds !== null) return true;
  // The sweep's newest kick may be without an answer yet while those before it were accepted.
  const isLate = oldestKickSeconds !== null && oldestKickSeconds >= SOON_SECONDS;
  if (outcome === "none") return null;
  if (outcome === "unanswered") return isLate ? false : null;
  return outcome === "accepted" && !isLate;
}
