import type postgres from "postgres";
import type { StorageFault } from "../../local/platform/storage-faults.ts";
import { pause } from "../../shared/platform/retry.ts";
import { changeMarkups, changePrices, endMonth, injectErrors, shiftTime } from "./database-faults.ts";
import { createRandom, type Random } from "./random.ts";
import { type Behaviour, BEHAVIOURS } from "./receivers.ts";
import { runAnotherWorker } from "./second-process.ts";
import { retryUntilDone, type World, withTimeout } from "./world.ts";

const TEN_MINUTES_S = 600;

/** An endpoint at the receivers; a steady one must not answer 410. */
export type Hook = { hook: string; steady: boolean };

type Apply = (world: World, forMs: number, random: Random, hooks: readonly Hook[]) => Promise<unknown>;

const kill =
  (name: string, signal: Deno.Signal = "SIGKILL"): Apply =>
  async ({ stack }) => {
    const child = stack.children.get(name);
    child?.kill(signal);
    return child !== undefined;
  };

const breakStorage =
  (fault: StorageFault): Apply =>
  async ({ storageFaultFile }, forMs) => {
    await Deno.writeTextFile(`${storageFaultFile}.draft`, JSON.stringify(fault));
    await Deno.rename(`${storageFaultFile}.draft`, storageFaultFile);
    await pause(forMs);
    await Deno.remove(storageFaultFile).catch(() => undefined); // another Storage fault has removed it
  };

/** Of this database only: pg_cron keeps the jobs of the whole server in one table. */
const switchJobs = (sql: postgres.Sql, active: boolean): Promise<unknown> =>
  sql`update cron.job set active = ${active} where database = current_database()`;

const APPLY = {
  kill_api: kill("api"),
  kill_generate: kill("keyframe-generate"),
  kill_deliver: kill("keyframe-deliver"),
  kill_replicate_webhook: kill("keyframe-replicate-webhook"),
  kill_scheduler: kill("scheduler"),
  kill_postgres: async ({ sql, isGiven }) => {
    // The closest to a kill that SQL can do: it ends the extensions' workers too.
    if (isGiven)
      return await sql`
        select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
    const [row] = await sql<{ pid: number }[]>`
      select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as pid`;
    if (!row) return false;
    Deno.kill(row.pid, "SIGKILL");
  },
  kill_gateway: kill("gateway"),
  restart_gateway: kill("gateway", "SIGTERM"),
  kicks_lost: ({ sql }) => sql`delete from net.http_request_queue`,
  cron_stopped: async ({ sql }, forMs) => {
    await switchJobs(sql, false);
    await pause(forMs);
    await retryUntilDone(() => switchJobs(sql, true));
  },
  provider_hangs: async ({ stack }, forMs) => {
    stack.children.get("simulator")?.kill("SIGSTOP");
    await pause(forMs);
    stack.children.get("simulator")?.kill("SIGCONT");
  },
  storage_refuses: breakStorage({ fault: "refuses" }),
  storage_slow: breakStorage({ fault: "slow", ms: 1_500 }),
  storage_full: breakStorage({ fault: "full" }),
  clock_10_minutes_ahead: ({ sql }) => shiftTime(sql, TEN_MINUTES_S),
  // Moved forward again, because otherwise what is due now would be due ten minutes after the run.
  clock_10_minutes_back: async ({ sql }, forMs) => {
    await shiftTime(sql, -TEN_MINUTES_S);
    await pause(forMs);
    await shiftTime(sql, TEN_MINUTES_S);
  },
  // Four workers at once, the stack's own included. The clock of each is right, or ten minutes off.
  more_generates: (world, forMs, random) =>
    Promise.all(
      [-1, 0, 1].map((sign) =>
        runAnotherWorker(world, "keyframe-generate", {
          forMs,
          aheadMs: sign * TEN_MINUTES_S * 1000,
          killed: random.chance(0.5),
        }),
      ),
    ),
  more_delivers: (world, forMs, random) =>
    Promise.all(
      [1, 2, 3].map(() =>
        runAnotherWorker(world, "keyframe-deliver", { forMs, aheadMs: 0, killed: random.chance(0.5) }),
      ),
    ),
  prices_change: ({ sql }, _forMs, random) => changePrices(sql, random.pick([1, 2, 3])),
  markups_change: ({ sql }, _forMs, random) =>
    changeMarkups(sql, random.pick([0.5, 1, 1.37]), random.pick([0, 2, null])),
  month_ends: ({ sql }) => endMonth(sql),
  account_deleted: (world, _forMs, random) => deleteAccount(world, random),
  database_errors: ({ sql }, _forMs, random) => injectErrors(sql, random.whole(2, 12)),
  receivers_misbehave: async ({ receivers }, forMs, random, hooks) => {
    // Object.keys returns strings.
    const behaviours = (Object.keys(BEHAVIOURS) as Behaviour[]).filter(
      (name) => !name.startsWith("takes_fourteen_seconds"),
    );
    const passing = behaviours.filter((behaviour) => behaviour !== "gone");
    for (const { hook, steady } of hooks) receivers.setBehaviour(hook, random.pick(steady ? passing : behaviours));
    await pause(forMs);
    for (const { hook, steady } of hooks) {
      receivers.setBehaviour(hook, steady || random.chance(0.5) ? "well" : random.pick(behaviours));
    }
  },
} satisfies Record<string, Apply>;

type FaultName = keyof typeof APPLY;
/** Every fault by name, in the order from which a plan is drawn. */
export const FAULT_NAMES = Object.keys(APPLY) as FaultName[]; // its keys are all there is in it

/** A fault, its start after the load's, and its length where it has one, in ms. */
type PlannedFault = { fault: FaultName; atMs: number; forMs: number };

/** The mean time between two faults, short enough that most overlap. */
const GAP_MS = 5_000;
const MIN_MS = 1_500;
const MAX_MS = 15_000;

/**
 * The faults and their times, from the seed only. Every fault occurs once in each round, in random order; a short run
 * has one round.
 */
export function planFaults(seed: number, durationMs: number): PlannedFault[] {
  const random = createRandom(`faults ${seed}`);
  const count = Math.max(FAULT_NAMES.length, Math.floor(durationMs / GAP_MS));
  const rounds = Array.from({ length: Math.ceil(count / FAULT_NAMES.length) }, () => random.shuffled(FAULT_NAMES));
  const most = Math.max(MIN_MS, Math.min(MAX_MS, durationMs / 5));
  return rounds
    .flat()
    .slice(0, count)
    .map((fault) => ({ fault, atMs: random.whole(0, durationMs), forMs: random.whole(MIN_MS, most) }));
}

/** How long a fault may take to end. */
const MAX_END_MS = 30_000;

/** Does one fault until its end. False when it could not be done, because of another fault. */
export async function applyFault(
  world: World,
  { fault, forMs }: PlannedFault,
  random: Random,
  hooks: readonly Hook[],
): Promise<boolean> {
  try {
    const apply: Apply = APPLY[fault];
    return (await withTimeout(apply(world, forMs, random, hooks), forMs + MAX_END_MS)) !== false;
  } catch {
    return false;
  }
}

/** Ends every fault that is on. */
export async function endFaults({ stack, sql, storageFaultFile, receivers }: World): Promise<void> {
  stack.children.get("simulator")?.kill("SIGCONT");
  await Deno.remove(storageFaultFile).catch(() => undefined);
  await injectErrors(sql, 0);
  await retryUntilDone(() => switchJobs(sql, true));
  receivers.reset();
}

/**
 * Deletes a user's account by SQL, as Studio does, with everything that runs; first choice is a user with an
 * unanswered submit. False when fewer than half of the users would be left.
 */
async function deleteAccount({ sql, users }: World, random: Random): Promise<boolean> {
  const there = users.filter(({ isDeleted }) => !isDeleted);
  if (there.length - 1 < users.length / 2) return false;
  const [unanswered] = await sql<{ owner_id: string }[]>`
    select owner_id from keyframe_private.provider_submits where is_unanswered group by 1 order by count(*) desc limit 1`;
  const account = there.find(({ userId }) => userId === unanswered?.owner_id) ?? random.pick(there);
  account.isDeleted = true;
  await account.busy;
  await retryUntilDone(() => sql`delete from auth.users where id = ${account.userId}`);
  return true;
}
