import type { LastKick, Part, ServiceFigures, WorkerFigures } from "../../contract/service.ts";
import type { FunctionEnvironment } from "../../platform/environment.ts";

/**
 * pg_net sends within a second or two of the commit. A worker claims within moments of the kick that it accepts, even after a cold start. The
 * sweep kicks every five seconds.
 */
const SOON_SECONDS = 20;

const isUnsent = ({ oldestUnsentSeconds }: Part<"kicks">) =>
  oldestUnsentSeconds !== null && oldestUnsentSeconds >= SOON_SECONDS;

/** Kicks that wake no worker. */
export function kickProblems(
  { kicks, lastKicks, workers, settings }: ServiceFigures,
  platformUrl: string | undefined,
): string[] {
  if (lastKicks === null || workers === null) return [];
  const address = settings?.address ?? platformUrl;
  const isElsewhere = platformUrl !== undefined && address !== platformUrl;
  const problems = (["generate", "deliver"] as const).flatMap((name) => {
    // A kick that was not sent is not the function's fault.
    const isWaiting = kicks !== null && isUnsent(kicks) && lastKicks[name].outcome === "unanswered";
    const works = isWaiting || kickWorks(lastKicks[name], workers[name]) !== false;
    if (works) return [];
    const { outcome } = lastKicks[name];
    if (isElsewhere && (outcome === "accepted" || outcome === "unanswered")) {
      return [
        `Kicks go to ${address}, and this is ${platformUrl}: the database is a copy, or has moved, and nothing is submitted or sent here. The other project may still run, and work that waits in both would be paid for and sent twice: see "Restore a backup" in docs/upgrade.md. To let it work here: select keyframe_private.set_address('${platformUrl}').`,
      ];
    }
    return [kickProblem(name, lastKicks[name], workers[name]) + processRemedy(name, workers[name])];
  });
  return [...new Set(problems)];
}

/** Kicks that pg_net does not send. */
export function pgNetProblems(kicks: Part<"kicks">): string[] {
  const { oldestUnsentSeconds, othersUnsent, servedDatabase } = kicks;
  if (servedDatabase !== null) {
    return [
      `pg_net sends no kick from here: pg_net.database_name is ${servedDatabase}, another database. Set it to this one in postgresql.conf and restart Postgres.`,
    ];
  }
  if (!isUnsent(kicks)) return [];
  const since = `pg_net has had a kick for ${Math.round(oldestUnsentSeconds ?? 0)} s without sending it`;
  const wake = `${since}: wake it with "select net.worker_restart()".`;
  return [
    othersUnsent === 0
      ? wake
      : `${wake} If that does not help, it is busy: ${othersUnsent} requests of other senders are in net.http_request_queue, and a slow one delays 200. Give them short timeouts.`,
  ];
}

/** When no process runs, kicks go to the function, even if it is not deployed. */
const processRemedy = (name: string, { isProcess, claimedSeconds }: WorkerFigures): string =>
  isProcess
    ? ` The last claim, ${Math.round(claimedSeconds ?? 0)} s ago, came from a process: start it again (npm run worker -- --only ${name}).`
    : "";

function kickProblem(name: string, { outcome, status, error }: LastKick, { oldestKickSeconds }: WorkerFigures): string {
  const why = (error ?? "unknown reason").replace(/\.$/, "");
  switch (outcome) {
    case "not_made":
      return `No kick to ${name} could be made (${why}). Deploy again, which fills the Vault, or create the entry (docs/going-live.md).`;
    case "accepted":
    case "unanswered":
      return `${name} has not claimed work since a kick ${Math.round(oldestKickSeconds ?? 0)} s ago: its log says why (call_failed).`;
    case "answered":
      return `The last kick to ${name} was answered ${status}: ${byStatus(name, status)}`;
    default:
      return `The last kick to ${name} got no answer (${why}): its log says why. If the log has no line, keyframe_functions_url in the Vault is wrong, or the functions cannot be reached.`;
  }
}

const KICK_SECRET: keyof FunctionEnvironment<"keyframe-generate" | "keyframe-deliver"> = "KEYFRAME_KICK_SECRET";

function byStatus(name: string, status: number | null): string {
  if (status === 401 || status === 403) {
    return `keyframe_kick_secret in the Vault is not ${KICK_SECRET} of the functions, or ${name} was deployed with verify_jwt. Deploy again (in an app's own project by the commands of docs/going-live.md, which set both). If it keeps happening, their clocks are minutes apart.`;
  }
  if (status === 429)
    return "the platform limits how often its functions are called. The functions' logs show by whom.";
  if (status === 404) return `keyframe_functions_url in the Vault is wrong, or ${name} is not deployed. Deploy again.`;
  if (status !== null && status >= 500) return `${name} fails. Its log says why.`;
  return `another server answers there. keyframe_functions_url in the Vault is wrong: deploy again.`;
}

/** Whether kicks reach a worker; null when unknown. */
export function kickWorks(
  { outcome, acknowledgedAfterSeconds }: LastKick,
  { oldestKickSeconds }: WorkerFigures,
): boolean | null {
  // A claim proves that the kick arrived, even without an answer: a function that starts slowly answers too late for pg_net.
  if (acknowledgedAfterSeconds !== null) return true;
  // The newest kick may have no answer yet while earlier ones were accepted.
  const isLate = oldestKickSeconds !== null && oldestKickSeconds >= SOON_SECONDS;
  if (outcome === "none") return null;
  if (outcome === "unanswered") return isLate ? false : null;
  return outcome === "accepted" && !isLate;
}
