import type { Part, ServiceFigures, WorkerFigures } from "../../../../shared/contract/service.ts";

/** Twelve missed sweeps. */
const NO_SWEEP_SECONDS = 60;
/** Calls take milliseconds. A worker's figures are its last word, so they count only while it is there. */
const SLOW_CALL_SECONDS = 1;
const PRESENT_SECONDS = 60;
/** Of 440. A few slow receivers delay no others. */
const MANY_SLOW_REQUESTS = 10;
/** Of a worker's places, at one model or host. Slow ones get a quarter at most (shared/worker/places.ts): then their users wait. */
const MANY_SLOW_PLACES = 1 / 8;
/** Each worker takes what has waited longest, so work waits this long only when it is not done, or there is too much of it. */
const LATE_SECONDS = 30;
/** Files are removed one batch after another, and nobody waits for them. */
const LATE_REMOVAL_SECONDS = 3600;

const WORK: Record<keyof Part<"due">, string> = {
  submit: "a submit to the provider",
  poll: "a poll of a provider run",
  store: "the copy of an output",
  cancel: "the cancellation of a provider run",
  search: "the search for a provider run",
  remove: "the removal of a file",
  delivery: "a delivery",
  slot: "a prediction whose owner has a free slot",
};

/** What is late, and why: slow models, hosts and receivers, slow calls. */
export function workProblems({ workers, due }: ServiceFigures): string[] {
  const problems =
    workers === null
      ? []
      : [...workerProblems("generate", workers.generate), ...workerProblems("deliver", workers.deliver)];
  return due === null ? problems : [...problems, ...lateProblems(due)];
}

function workerProblems(name: "generate" | "deliver", worker: WorkerFigures): string[] {
  const { callSeconds, slowRequests, claimedSeconds, places } = worker;
  if (claimedSeconds !== null && claimedSeconds >= PRESENT_SECONDS) return [];
  const problems: string[] = [];
  if (callSeconds !== null && callSeconds >= SLOW_CALL_SECONDS) {
    problems.push(
      `The database calls of ${name} take ${callSeconds.toFixed(1)} s, so its work is late. Look at the load of Postgres, the connections of the Data API (PGRST_DB_POOL), and the network between them; if jit is on, switch it off for the role authenticator.`,
    );
  }
  const slow = places?.slow.filter(({ open }) => open >= places.of * MANY_SLOW_PLACES) ?? [];
  if (places && slow.length > 0) {
    const causes = slow.map(({ name: cause, open }) => `${open} for ${cause}`).join(", ");
    const remedy =
      name === "generate"
        ? "Switch a model off that stays slow (update keyframe.models set enabled = false); what waits for it fails at its deadline."
        : "keyframe_private.admin_webhook_health shows whose deliveries are due; disable an endpoint that stays slow.";
    problems.push(
      `Of the ${places.of} requests that ${name} makes at once, many wait for something slow: ${causes}. Work that needs it waits; other work does not. ${remedy}`,
    );
  } else if (slowRequests >= MANY_SLOW_REQUESTS) {
    problems.push(
      `${slowRequests} of 440 requests of deliver have been open for over 3 s: receivers are slow. Their owners wait, others do not. keyframe_private.admin_webhook_health shows whose deliveries are due; disable such an endpoint if it stays slow.`,
    );
  }
  return problems;
}

function lateProblems(due: Part<"due">): string[] {
  const late = Object.entries(due).flatMap(([kind, seconds]) => {
    const limit = kind === "remove" ? LATE_REMOVAL_SECONDS : LATE_SECONDS;
    if (seconds === null || seconds < limit) return [];
    return [`${WORK[kind as keyof Part<"due">]} for ${Math.round(seconds)} s`]; // Object.entries loses the keys' type
  });
  return late.length === 0
    ? []
    : [
        `Work is due and not done: ${late.join(", ")}. If nothing else here says why, there is more than the workers can do, or they fail: read the logs of keyframe-generate and keyframe-deliver, and keyframe_private.admin_queue.`,
      ];
}

/** The sweep's job. */
export function jobProblems({ sweep }: ServiceFigures): string[] {
  if (sweep === null) return [];
  if (!sweep.scheduled) return ["pg_cron does not have the job keyframe-sweep, or it is switched off: deploy again."];
  if (sweep.lastSuccessSeconds !== null && sweep.lastSuccessSeconds <= NO_SWEEP_SECONDS) return [];
  return [
    "The sweep has not succeeded lately: cron.job_run_details says why (connection failed: pg_cron has to connect without a password, or needs cron.use_background_workers = on). If it is empty, pg_cron is off.",
  ];
}
