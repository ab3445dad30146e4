import postgres from "postgres";
import type { StorageFault } from "../../local/platform/storage-faults.ts";
import { RUNNER } from "./connections-left.ts";
import { exhaustConnections, makeDeadlock, strike } from "./database-faults.ts";
import { deleteAccount } from "./delete-account.ts";
import type { Dice } from "./dice.ts";
import { endEverySession, endWorkers } from "./given-database.ts";
import { type Habit, HABITS } from "./habits.ts";
import { runSecondProcess } from "./second-process.ts";
import { shiftTime } from "./shift-time.ts";
import { standIn } from "./stand-in.ts";
import type { FaultName, PlannedFault } from "./plan-faults.ts";
import { insist, inTime, pause, type World } from "./world.ts";

const TEN_MINUTES_S = 600;
/** What a fault may take beyond its time to be over. */
const LONGEST_END_MS = 30_000;

/** An endpoint at the receivers; a steady one must not say that it is gone. */
export type Slot = { slot: string; steady: boolean };

type Apply = (world: World, planned: PlannedFault, dice: Dice, slots: readonly Slot[]) => Promise<unknown>;

const kill =
  (name: string, signal: Deno.Signal = "SIGKILL"): Apply =>
  async ({ stack }) =>
    stack.children.get(name)?.kill(signal);

const hang =
  (name: string): Apply =>
  async ({ stack }, { forMs }) => {
    const child = stack.children.get(name);
    child?.kill("SIGSTOP");
    await pause(forMs);
    child?.kill("SIGCONT");
  };

const breakStorage =
  (fault: StorageFault): Apply =>
  async ({ storageFaultFile }, { forMs }) => {
    await Deno.writeTextFile(`${storageFaultFile}.draft`, JSON.stringify(fault));
    await Deno.rename(`${storageFaultFile}.draft`, storageFaultFile);
    await pause(forMs);
    await Deno.remove(storageFaultFile).catch(() => undefined); // another fault of Storage has ended already
  };

/** Those of this database: pg_cron keeps those of the whole server in one table. */
const switchJobs = (sql: postgres.Sql, active: boolean): Promise<unknown> =>
  sql`update cron.job set active = ${active} where database = current_database()`;

const tenMinutesOff = (dice: Dice): number => dice.pick([-1, 1]) * TEN_MINUTES_S * 1000;

const second =
  (name: "api" | "keyframe-generate" | "keyframe-deliver", hasWrongClock = false): Apply =>
  (world, { forMs }, dice) => {
    const aheadMs = hasWrongClock ? tenMinutesOff(dice) : 0;
    return runSecondProcess(world, name, { forMs, aheadMs, killed: dice.chance(0.5) });
  };

const APPLY: Record<FaultName, Apply> = {
  kill_api: kill("api"),
  kill_generate: kill("keyframe-generate"),
  kill_deliver: kill("keyframe-deliver"),
  kill_replicate_webhook: kill("keyframe-replicate-webhook"),
  kill_scheduler: async ({ stack, sql, isGiven }) => {
    stack.children.get("scheduler")?.kill("SIGKILL");
    if (isGiven) await insist(() => endWorkers(sql), 5);
  },
  kill_gateway: kill("gateway"),
  restart_gateway: kill("gateway", "SIGTERM"),
  kill_postgres: async ({ sql, isGiven }) => {
    if (isGiven) return void (await endEverySession(sql));
    const [row] = await sql<{ pid: number }[]>`
      select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as pid`;
    if (!row) return false;
    Deno.kill(row.pid, "SIGKILL");
  },
  pg_net_queue_lost: async ({ sql }) => void (await sql`delete from net.http_request_queue`),
  cron_stopped: async ({ sql }, { forMs }) => {
    await switchJobs(sql, false);
    await pause(forMs);
    await insist(() => switchJobs(sql, true));
  },
  scheduler_hangs: async (world, ...rest) => {
    const { pg_net, pg_cron } = world.stack.extensions;
    if (pg_net === "real" && pg_cron === "real") return false; // nothing of it is done by a process of the stack
    await hang("scheduler")(world, ...rest);
  },
  provider_hangs: hang("simulator"),
  storage_refuses: breakStorage({ fault: "refuses" }),
  storage_slow: breakStorage({ fault: "slow", ms: 1_500 }),
  storage_full: breakStorage({ fault: "full" }),
  clock_10_minutes_ahead: ({ sql }) => shiftTime(sql, TEN_MINUTES_S),
  // Put right in the end: what is due now would be due in ten minutes, and users have the patience of a test.
  clock_10_minutes_back: async ({ sql }, { forMs }) => {
    await shiftTime(sql, -TEN_MINUTES_S);
    await pause(forMs);
    await shiftTime(sql, TEN_MINUTES_S);
  },
  second_generate: second("keyframe-generate"),
  second_deliver: second("keyframe-deliver"),
  generate_with_wrong_clock: second("keyframe-generate", true),
  deliver_with_wrong_clock: second("keyframe-deliver", true),
  api_with_wrong_clock: second("api", true),
  replicate_webhook_with_wrong_clock: (world, { forMs }, dice) => standIn(world, tenMinutesOff(dice), forMs),
  account_deleted: (world, _planned, dice) => deleteAccount(world, dice),
  database_errors: async ({ sql }, _planned, dice) => void (await strike(sql, dice.whole(2, 12))),
  deadlock: (world, { forMs }) => makeDeadlock(world, Math.max(forMs, 3_000)),
  connection_limit: (world, { forMs }) => {
    const connection = { application_name: RUNNER };
    const open = (max: number) =>
      postgres(world.stack.databaseUrl, { max, fetch_types: false, connect_timeout: 5, connection });
    return exhaustConnections(world, open, Math.min(forMs, 5_000));
  },
  receivers_misbehave: async ({ receivers }, { forMs }, dice, slots) => {
    // Object.keys forgets the names' type.
    const habits = Object.keys(HABITS) as Habit[];
    const passing = habits.filter((habit) => habit !== "gone");
    for (const { slot, steady } of slots) receivers.behave(slot, dice.pick(steady ? passing : habits));
    await pause(forMs);
    for (const { slot, steady } of slots) {
      receivers.behave(slot, steady || dice.chance(0.5) ? "well" : dice.pick(habits));
    }
  },
};

/** Does one fault, until it is over. False: it could not be done this time, which some other fault is the reason of. */
export async function applyFault(
  world: World,
  planned: PlannedFault,
  dice: Dice,
  slots: readonly Slot[],
): Promise<boolean> {
  try {
    const done = APPLY[planned.fault](world, planned, dice, slots);
    return (await inTime(done, planned.forMs + LONGEST_END_MS)) !== false;
  } catch {
    return false;
  }
}

/** Ends every fault that is switched on. */
export async function endFaults({ stack, sql, storageFaultFile, receivers }: World): Promise<void> {
  for (const child of stack.children.values()) child.kill("SIGCONT");
  await Deno.remove(storageFaultFile).catch(() => undefined);
  await strike(sql, 0);
  await insist(() => switchJobs(sql, true));
  receivers.heal();
}
