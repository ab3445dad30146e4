import type { Part, ServiceFigures, WorkerFigures } from "../../contract/service.ts";

/** Calls normally take milliseconds. A worker that has not claimed for PRESENT_SECONDS has outdated figures. */
const SLOW_CALL_SECONDS = 1;
const PRESENT_SECONDS = 60;
/** Fewer slow receivers delay no others. */
const MANY_SLOW_DELIVERIES = 10;
/** A share of a queue's capacity. One model, or the quick or slow endpoints of one host, get at most two fifths of it. */
const MUCH_SLOW_WORK = 1 / 8;
/** Lanes take turns, oldest work first, so work waits this long only if it is not done or there is too much of it. */
const LATE_SECONDS = 30;
/** Files are removed batch by batch, and no user waits for them. */
const LATE_REMOVAL_SECONDS = 3600;

const WORK: Record<keyof Part<"due">, string> = {
  submit: "a submit to the provider",
  poll: "a poll of a provider run",
  store: "the copy of an output",
  cancel: "the cancellation of a provider run",
  search: "the search for a provider run",
  expire: "the end of a prediction past its deadline",
  remove: "the removal of a file",
  delivery: "a delivery",
  slot: "the start of a waiting prediction",
};

/** Why work is late: slow models, hosts and receivers, slow calls. */
export const workerProblems = ({ generate, deliver }: Part<"workers">): string[] => [
  ...problemsOfWorker("generate", generate),
  ...problemsOfWorker("deliver", deliver),
];

function problemsOfWorker(name: "generate" | "deliver", worker: WorkerFigures): string[] {
  const { callSeconds, slowWork, claimedSeconds, leased } = worker;
  if (claimedSeconds !== null && claimedSeconds >= PRESENT_SECONDS) return [];
  const problems: string[] = [];
  if (callSeconds !== null && callSeconds >= SLOW_CALL_SECONDS) {
    problems.push(
      `The database calls of ${name} take ${callSeconds.toFixed(1)} s, so its work is late. Check the load of Postgres, the connections of the Data API (PGRST_DB_POOL) and the network between them. If jit is on, switch it off for the role authenticator.`,
    );
  }
  const slow = leased.slow.filter(({ open, of }) => open >= of * MUCH_SLOW_WORK);
  if (slow.length > 0) {
    const causes = slow.map(({ name: cause, open, of }) => `${open} of ${of} for ${cause}`).join(", ");
    const remedy =
      name === "generate"
        ? "Switch off a model that stays slow (update keyframe.models set enabled = false); work that waits for it fails at its deadline."
        : "keyframe_private.admin_webhook_health shows whose deliveries are due. Disable an endpoint that stays slow.";
    problems.push(
      `Much of what ${name} has leased waits for something slow: ${causes}. Other work that needs the same waits too; the rest does not. ${remedy}`,
    );
  } else if (name === "deliver" && slowWork >= MANY_SLOW_DELIVERIES) {
    problems.push(
      `${slowWork} deliveries have been leased for over 3 s: receivers are slow. Only their owners wait. keyframe_private.admin_webhook_health shows whose deliveries are due. Disable an endpoint that stays slow.`,
    );
  }
  return problems;
}

/** Work that is late, whatever the cause. */
export function lateProblems({ due, predictions, deliveries }: ServiceFigures): string[] {
  if (due === null) return [];
  const late = Object.entries(due).filter(([kind, seconds]) => {
    const limit = kind === "remove" ? LATE_REMOVAL_SECONDS : LATE_SECONDS;
    return seconds !== null && seconds >= limit;
  }) as [keyof Part<"due">, number][]; // Object.entries loses the keys' type
  if (late.length === 0) return [];
  const kinds = late.map(([kind]) => kind);
  const whose = [
    ...(kinds.includes("delivery")
      ? largestOwner(deliveries, "pending deliveries", "to endpoint", DELIVERIES_REMEDY)
      : []),
    ...(kinds.some((kind) => PREDICTION_KINDS.includes(kind))
      ? largestOwner(predictions, "due predictions", "for the model", PREDICTIONS_REMEDY)
      : []),
  ];
  const says = late.map(([kind, seconds]) => `${WORK[kind]} for ${Math.round(seconds)} s`).join(", ");
  return [
    `Work is due and not done: ${says}. ${whose.map((owner) => `${owner} `).join("")}If no other problem here explains it, the workers have too much work or fail: read the logs of keyframe-generate and keyframe-deliver, and keyframe_private.admin_queue.`,
  ];
}

const PREDICTION_KINDS: readonly (keyof Part<"due">)[] = ["submit", "poll", "store"];
const DELIVERIES_REMEDY =
  "they wait while it is disabled (update keyframe.webhook_endpoints set enabled = false where id = …).";
const PREDICTIONS_REMEDY =
  "lower the limit of running predictions for each owner (update keyframe_private.settings set max_active_per_owner = …), or switch the model off.";

/** The owner of at least half of the pending deliveries or due predictions, what most of it is, and what to do. */
function largestOwner(
  part: Pick<Part<"predictions">, "largest"> | null,
  what: string,
  most: string,
  remedy: string,
): string[] {
  const [first] = part?.largest ?? [];
  if (first === undefined || first.count * 2 < first.of) return [];
  const { ownerId, subject, count, of } = first;
  const owner = ownerId === null ? "The service itself" : `Owner ${ownerId}`;
  return [`${owner} has ${count} of the ${of} ${what}, mostly ${most} ${subject}: ${remedy}`];
}

const nameOf = (job: string): string => `keyframe-${job}`;

/** The jobs of pg_cron that are missing, fail, or do not run. */
export function jobProblems({ jobs }: ServiceFigures): string[] {
  const all = Object.entries(jobs ?? {});
  const wrong = all.filter(([, { obstacle }]) => obstacle !== null);
  const late = all.filter(([, { scheduled, isLate }]) => scheduled && isLate);
  const silent = late.filter(([, { lastError }]) => lastError === null);
  const problems = late.flatMap(([job, { lastError }]) =>
    lastError === null
      ? []
      : [
          `The job ${nameOf(job)} fails: ${lastError.replace(/\.$/, "")}. Fix what the error names. cron.job_run_details has all its runs (connection failed: pg_cron has to connect without a password, or needs cron.use_background_workers = on).`,
        ],
  );
  if (wrong.length > 0) {
    const each = wrong.map(([job, { obstacle }]) => `${nameOf(job)} (${obstacle})`);
    problems.unshift(
      `Entries of pg_cron are wrong: ${each.join(", ")}. Deploy again, or select keyframe_private.schedule_jobs(), which returns the entries that only another role can remove.`,
    );
  }
  if (silent.length > 0) {
    const each = silent.map(([job, { lastSuccessSeconds: seconds }]) =>
      seconds === null ? `${nameOf(job)} (not in its log)` : `${nameOf(job)} (${Math.round(seconds)} s ago)`,
    );
    problems.push(
      `Jobs have not succeeded for too long: ${each.join(", ")}. See cron.job_run_details: pg_stat_activity shows what a running job does. Without new runs, pg_cron is off or all its workers are busy.`,
    );
  }
  return problems;
}
