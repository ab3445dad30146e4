import { act } from "./actions.ts";
import { applyFault, describeGiven, endFaults, requireEmpty, type Hook } from "./faults.ts";
import { measureIsolation, SCENARIO_NAMES } from "./isolation.ts";
import { checkInvariants } from "./invariants/invariants.ts";
import { planFaults } from "./plan.ts";
import { signUpUsers, prepare, SERVICE_WIDE } from "./prepare.ts";
import { openWorld } from "./open-world.ts";
import { createRandom } from "./random.ts";
import { type ChaosResult, countAll, sum } from "./report.ts";
import { describe, waitUntilIdle, deleteSomeProjects, pollAtRest, settleStarts } from "./settle.ts";
import { pause } from "../../shared/platform/pause.ts";
import { withTimeout, type User, type World } from "./world.ts";

/** A shorter run leaves the scenarios out, which take longer than itself. */
const BRIEF_MS = 60_000;

type ChaosOptions = {
  seed: number;
  /** How long load and faults last; settling and checking come after. */
  durationMs: number;
  users: number;
  /** A folder that only this run uses. */
  dataDir: string;
  /** KEYFRAME_DATABASE_URL: an empty database to use. */
  databaseUrl?: string | undefined;
  settleSeconds: number;
  /** Only these scenarios of isolation, and neither load nor faults. */
  scenarios?: readonly string[] | undefined;
  say(line: string): void;
  /** Ends load and faults early; the invariants are still checked. */
  signal?: AbortSignal | undefined;
};

/** Starts a throw-away stack, uses it while faults happen, waits until it is idle, and checks the invariants. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { dataDir, databaseUrl, say } = options;
  if (databaseUrl !== undefined) await requireEmpty(databaseUrl);
  const isBrief = options.durationMs < BRIEF_MS;
  // First and alone, because it measures times.
  const isolation = await measureIsolation(options, options.scenarios ?? (isBrief ? [] : SCENARIO_NAMES));
  if (options.scenarios !== undefined)
    return { ...isolation, applied: new Map(), notApplied: new Map(), calls: new Map() };
  const simulator = { startDelayMs: 50, runDelayMs: 300 };
  const { world, close } = await openWorld({ dataDir, databaseUrl, simulator, signal: options.signal });
  const remarks = world.isGiven ? [...world.stack.extensions.notes, ...describeGiven(world.stack)] : [];
  if (isBrief) remarks.push("The scenarios of isolation were left out: they take longer than this run.");
  for (const remark of remarks) say(remark);
  remarks.push(...isolation.remarks);
  try {
    await prepare(world);
    const users = await signUpUsers(world, options.seed, options.users);
    await runLoadAndFaults(world, users, options);
    say("load and faults ended");
    await endFaults(world);
    say(`${await settleStarts(world.ledger)} unanswered starts were repeated`);
    await waitUntilIdle(world, options.settleSeconds, say);
    say(`${await pollAtRest(world)} predictions were polled once more`);
    say(`${await deleteSomeProjects(world)} projects with outputs were deleted`);
    const left = await waitUntilIdle(world, options.settleSeconds, say);
    if (describe(left) !== "") say(`work that did not end: ${describe(left)}`);
    say("checking the invariants");
    const verdicts = await checkInvariants(world);
    const { applied, notApplied, calls } = world.ledger;
    const figures = { ...(await countAll(world)), ...isolation.figures };
    return { verdicts: [...verdicts, ...isolation.verdicts], applied, notApplied, calls, figures, remarks };
  } finally {
    await close();
  }
}

const REPORT_EVERY_MS = 15_000;

/** Runs users and faults at once until the time is over. */
async function runLoadAndFaults(
  world: World,
  users: User[],
  { seed, durationMs, say, signal }: ChaosOptions,
): Promise<void> {
  const over = AbortSignal.any([AbortSignal.timeout(durationMs), ...(signal ? [signal] : [])]);
  const work = users.map(async (user) => {
    while (!over.aborted && !user.isDeleted) {
      user.busy = act(user, world);
      await user.busy;
    }
  });
  const hooks = (): Hook[] => [...SERVICE_WIDE, ...users.flatMap(({ endpoints }) => endpoints)];
  const faults = planFaults(seed, durationMs).map(async (planned, number) => {
    await waitUntil(planned.atMs, over);
    if (over.aborted) return;
    const { ledger } = world;
    const done = await applyFault(world, planned, createRandom(`fault ${number} of ${seed}`), hooks());
    ledger.count(done ? ledger.applied : ledger.notApplied, planned.fault);
  });
  const report = (async () => {
    while (!over.aborted) {
      await waitUntil(REPORT_EVERY_MS, over);
      say(progress(world));
    }
  })();
  await Promise.all([...work, ...faults, report, keepProbing(world, over)]);
}

async function waitUntil(ms: number, over: AbortSignal): Promise<void> {
  const end = performance.now() + ms;
  while (!over.aborted && performance.now() < end) await pause(Math.min(100, end - performance.now()));
}

function progress(world: World): string {
  const { starts, answers, probes, applied } = world.ledger;
  return `${starts.length} starts, ${answers.length} answers, ${world.receivers.arrivals} requests at receivers, ${probes.length} probes, ${sum(applied)} faults`;
}

const EVERY_MS = 400;
const LONGEST_MS = 30_000;

/**
 * Requests the API's health until aborted and records each answer and its time, and the most slots that an owner uses.
 */
async function keepProbing({ stack, ledger, sql }: World, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    const began = performance.now();
    const response = await fetch(`${stack.url}/functions/v1/api/health`, {
      signal: AbortSignal.timeout(LONGEST_MS),
    }).catch(() => null);
    const ms = Math.round(performance.now() - began);
    // An answer with sb-error-code is the gateway's, while it starts a function; no answer means that it is down.
    const isOurs = response !== null && !response.headers.has("sb-error-code");
    if (isOurs) ledger.probes.push({ ms, status: response.status, retryAfter: response.headers.has("retry-after") });
    else if (ms >= LONGEST_MS) ledger.probes.push({ ms, status: 0, retryAfter: false });
    await response?.body?.cancel();
    ledger.slotCounts.push(...(await withTimeout(maxSlots(sql), 5_000).catch(() => [])));
    for (const id of await withTimeout(lostSources(sql), 5_000).catch(() => [])) ledger.lostSources.add(id);
    await pause(EVERY_MS);
  }
}

async function maxSlots(sql: World["sql"]): Promise<number[]> {
  const rows = await sql<{ slots: number }[]>`
    select count(*)::int as slots from keyframe.predictions
    where admitted_at is not null and is_active
    group by owner_id order by 1 desc limit 1`;
  return rows.map(({ slots }) => slots);
}

/** Predictions that run, and pay, without the frame that they were started with. */
async function lostSources(sql: World["sql"]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select p.id from keyframe.predictions p cross join keyframe_private.images_of(p.input) i
    where p.is_active and i.source_prediction_id is not null
      and not exists (select from keyframe.predictions t where t.id = i.source_prediction_id)`;
  return rows.map(({ id }) => id);
}
