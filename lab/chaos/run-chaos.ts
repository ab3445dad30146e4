import { PROCESS_NAMES } from "../../local/stack/describe-children.ts";
import type { Workers } from "../../local/stack/stack-settings.ts";
import { checkGivenPostgres } from "../../local/stack/open-database.ts";
import { pause } from "../../shared/platform/retry.ts";
import { act } from "./actions.ts";
import { settleCredits } from "./balance-actions.ts";
import { applyFault, endFaults, type Hook, planFaults } from "./faults.ts";
import { checkInvariants, describeWork } from "./invariants/invariants.ts";
import { measureIsolation } from "./isolation.ts";
import { prepare } from "./prepare.ts";
import { createRandom } from "./random.ts";
import { type ChaosResult, count, countAll } from "./report.ts";
import { SCENARIO_NAMES } from "./scenarios.ts";
import { deleteSomeProjects, settleStarts, waitUntilIdle } from "./settle.ts";
import { openWorld, type World } from "./world.ts";

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
  workers: Workers;
  settleSeconds: number;
  /** Only these scenarios of isolation, and neither load nor faults. */
  scenarios?: readonly string[] | undefined;
  say(line: string): void;
  /** Ends load and faults early; the invariants are still checked. */
  signal: AbortSignal;
};

/** Starts a throw-away stack, uses it while faults happen, waits until it is idle, and checks the invariants. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { databaseUrl, say, seed, scenarios, settleSeconds } = options;
  if (databaseUrl !== undefined && (await checkGivenPostgres(databaseUrl)).isUsed)
    throw new Error(
      "The database of KEYFRAME_DATABASE_URL has been used. A run needs an empty one: drop and create it, or use another.",
    );
  const isBrief = options.durationMs < BRIEF_MS;
  const { world, close } = await openWorld(options);
  const result: ChaosResult = {
    verdicts: [],
    figures: {},
    remarks: [],
    applied: new Map(),
    notApplied: new Map(),
    calls: new Map(),
  };
  const remark = (line: string) => {
    say(line);
    result.remarks.push(line);
  };
  try {
    for (const note of world.isGiven ? world.stack.extensions.notes : []) remark(note);
    if (world.isGiven)
      remark("kill postgres: the server was not killed; every connection to the database was ended by SQL.");
    // Runs first and by itself, because it measures times.
    await measureIsolation(world, scenarios ?? (isBrief ? [] : SCENARIO_NAMES), result, say);
    if (scenarios !== undefined) return result;
    if (isBrief) remark("The scenarios of isolation were left out: they take longer than this run.");
    const hooks = await prepare(world, seed, options.users);
    await runLoadAndFaults(world, hooks, options, result);
    say("load and faults ended");
    await endFaults(world);
    say(`${await settleStarts(world.ledger)} unanswered starts were repeated`);
    say(`${await settleCredits(world)} unanswered credits were repeated`);
    await waitUntilIdle(world, settleSeconds, say);
    say(`${await deleteSomeProjects(world)} projects with outputs were deleted`);
    await waitUntilIdle(world, settleSeconds, say);
    // Unlike a function, an idle process goes on with its calls.
    if (options.workers !== "functions")
      await Promise.all(PROCESS_NAMES.map((name) => world.stack.children.get(name)?.stop()));
    say(`checking the invariants; work that did not end: ${(await describeWork(world)) || "none"}`);
    result.verdicts = result.verdicts.concat(await checkInvariants(world));
    Object.assign(result.figures, await countAll(world));
    return result;
  } finally {
    await close();
  }
}

const REPORT_EVERY_MS = 15_000;

/** Runs users and faults at once until the time is over. */
async function runLoadAndFaults(
  world: World,
  hooks: () => Hook[],
  { seed, durationMs, say, signal }: ChaosOptions,
  { calls, applied, notApplied }: ChaosResult,
): Promise<void> {
  const { ledger, receivers, users } = world;
  const over = AbortSignal.any([AbortSignal.timeout(durationMs), signal]);
  const work = users.map(async (user) => {
    while (!over.aborted && !user.isDeleted) {
      const action = act(user, world).then((outcome) => count(calls, outcome));
      user.busy = action;
      await action;
    }
  });
  const faults = planFaults(seed, durationMs).map(async (planned, number) => {
    await pause(planned.atMs, over);
    if (over.aborted) return;
    const done = await applyFault(world, planned, createRandom(`fault ${number} of ${seed}`), hooks());
    count(done ? applied : notApplied, planned.fault);
  });
  const report = (async () => {
    while (!over.aborted) {
      await pause(REPORT_EVERY_MS, over);
      say(
        `${ledger.starts.length} starts, ${receivers.arrivals} requests at receivers, ${applied.size} kinds of faults done`,
      );
    }
  })();
  await Promise.all([...work, ...faults, report]);
}
