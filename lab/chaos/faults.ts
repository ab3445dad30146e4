import postgres from "postgres";
import type { StorageFault } from "../../local/platform/storage-faults.ts";
import { checkGivenPostgres } from "../../local/stack/open-database.ts";
import type { Stack } from "../../local/stack/start-stack.ts";
import { exhaustConnections, makeDeadlock, shiftTime, injectErrors } from "./database-faults.ts";
import { endMonth, endStops, lowerBudgets, raisePrices, stopStarts } from "./costs.ts";
import type { Random } from "./random.ts";
import { type Behaviour, BEHAVIOURS, TOO_SLOW } from "./receivers.ts";
import { runSecondProcess, replaceCallbackProcess } from "./second-process.ts";
import { pause } from "../../shared/platform/pause.ts";
import { retry, RUNNER, type World, withTimeout } from "./world.ts";

const TEN_MINUTES_S = 600;
/** How long a fault may take to end. */
const LONGEST_END_MS = 30_000;

/** An endpoint at the receivers; a steady one must not answer 410. */
export type Hook = { hook: string; steady: boolean };

/** How long a fault lasts that has a length. */
type Length = { forMs: number };

type Apply = (world: World, length: Length, random: Random, hooks: readonly Hook[]) => Promise<unknown>;

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
    await Deno.remove(storageFaultFile).catch(() => undefined); // another Storage fault has removed it
  };

/** Of this database only: pg_cron keeps the jobs of the whole server in one table. */
const switchJobs = (sql: postgres.Sql, active: boolean): Promise<unknown> =>
  sql`update cron.job set active = ${active} where database = current_database()`;

const tenMinutesOff = (random: Random): number => random.pick([-1, 1]) * TEN_MINUTES_S * 1000;

const second =
  (name: "api" | "keyframe-generate" | "keyframe-deliver", hasWrongClock = false): Apply =>
  (world, { forMs }, random) => {
    const aheadMs = hasWrongClock ? tenMinutesOff(random) : 0;
    return runSecondProcess(world, name, { forMs, aheadMs, killed: random.chance(0.5) });
  };

const APPLY = {
  kill_api: kill("api"),
  kill_generate: kill("keyframe-generate"),
  kill_deliver: kill("keyframe-deliver"),
  kill_replicate_webhook: kill("keyframe-replicate-webhook"),
  kill_scheduler: async ({ stack, sql, isGiven }) => {
    stack.children.get("scheduler")?.kill("SIGKILL");
    if (isGiven) await retry(() => endWorkers(sql), 5);
  },
  kill_postgres: async ({ sql, isGiven }) => {
    if (isGiven) return void (await endEverySession(sql));
    const [row] = await sql<{ pid: number }[]>`
      select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as pid`;
    if (!row) return false;
    Deno.kill(row.pid, "SIGKILL");
  },
  kill_gateway: kill("gateway"),
  restart_gateway: kill("gateway", "SIGTERM"),
  pg_net_queue_lost: async ({ sql }) => void (await sql`delete from net.http_request_queue`),
  cron_stopped: async ({ sql }, { forMs }) => {
    await switchJobs(sql, false);
    await pause(forMs);
    await retry(() => switchJobs(sql, true));
  },
  scheduler_hangs: async (world, ...rest) => {
    const { pg_net, pg_cron } = world.stack.extensions;
    if (pg_net === "real" && pg_cron === "real") return false; // no process of the stack runs the jobs
    await hang("scheduler")(world, ...rest);
  },
  provider_hangs: hang("simulator"),
  storage_refuses: breakStorage({ fault: "refuses" }),
  storage_slow: breakStorage({ fault: "slow", ms: 1_500 }),
  storage_full: breakStorage({ fault: "full" }),
  clock_10_minutes_ahead: ({ sql }) => shiftTime(sql, TEN_MINUTES_S),
  // Moved forward again, because otherwise what is due now would be due ten minutes after the run.
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
  replicate_webhook_with_wrong_clock: (world, { forMs }, random) =>
    replaceCallbackProcess(world, tenMinutesOff(random), forMs),
  account_deleted: (world, _length, random) => deleteAccount(world, random),
  database_errors: async ({ sql }, _length, random) => void (await injectErrors(sql, random.whole(2, 12))),
  deadlock: (world, { forMs }) => makeDeadlock(world, Math.max(forMs, 3_000)),
  prices_raised: ({ sql }, _length, random) => raisePrices(sql, random.whole(2, 3)),
  budgets_lowered: ({ sql }) => lowerBudgets(sql),
  spending_stopped: ({ sql }, { forMs }) => stopStarts(sql, "spending", forMs),
  service_budget_zero: ({ sql }, { forMs }) => stopStarts(sql, "budget", forMs),
  month_ended: ({ sql }) => endMonth(sql),
  connection_limit: (world, { forMs }) => {
    const connection = { application_name: RUNNER };
    const open = (max: number) =>
      postgres(world.stack.databaseUrl, { max, fetch_types: false, connect_timeout: 5, connection });
    return exhaustConnections(world, open, Math.min(forMs, 5_000));
  },
  receivers_misbehave: async ({ receivers }, { forMs }, random, hooks) => {
    // Object.keys returns strings.
    const behaviours = (Object.keys(BEHAVIOURS) as Behaviour[]).filter((name) => !TOO_SLOW.includes(name));
    const passing = behaviours.filter((behaviour) => behaviour !== "gone");
    for (const { hook, steady } of hooks) receivers.setBehaviour(hook, random.pick(steady ? passing : behaviours));
    await pause(forMs);
    for (const { hook, steady } of hooks) {
      receivers.setBehaviour(hook, steady || random.chance(0.5) ? "well" : random.pick(behaviours));
    }
  },
} satisfies Record<string, Apply>;

export type FaultName = keyof typeof APPLY;
/** Every fault by name, in the order from which a plan is drawn. */
export const FAULT_NAMES = Object.keys(APPLY) as FaultName[]; // its keys are all there is in it

/** Does one fault until its end. False when it could not be done, because of another fault. */
export async function applyFault(
  world: World,
  { fault, forMs }: Length & { fault: FaultName },
  random: Random,
  hooks: readonly Hook[],
): Promise<boolean> {
  try {
    const apply: Apply = APPLY[fault];
    return (await withTimeout(apply(world, { forMs }, random, hooks), forMs + LONGEST_END_MS)) !== false;
  } catch {
    return false;
  }
}

/** Ends every fault that is on. */
export async function endFaults({ stack, sql, storageFaultFile, receivers }: World): Promise<void> {
  for (const child of stack.children.values()) child.kill("SIGCONT");
  await Deno.remove(storageFaultFile).catch(() => undefined);
  await injectErrors(sql, 0);
  await retry(() => switchJobs(sql, true));
  await endStops(sql);
  receivers.reset();
}

/**
 * Deletes a user's account by SQL, as Studio does, with everything that runs; first choice is a user with an
 * unanswered submit. False when fewer than half of the users would be left.
 */
async function deleteAccount(world: World, random: Random): Promise<boolean> {
  const { sql, ledger, users } = world;
  const there = users.filter(({ isDeleted }) => !isDeleted);
  if (there.length - 1 < users.length / 2) return false;
  const [unanswered] = await sql<{ owner_id: string }[]>`
    select owner_id from keyframe_private.provider_submits where is_unanswered group by 1 order by count(*) desc limit 1`;
  const account = there.find(({ userId }) => userId === unanswered?.owner_id) ?? random.pick(there);
  account.isDeleted = true;
  await account.busy;
  const projects = await retry(() =>
    sql.begin(async (transaction) => {
      const rows = await transaction<
        { id: string }[]
      >`select id from keyframe.projects where owner_id = ${account.userId}`;
      await transaction`delete from auth.users where id = ${account.userId}`;
      return rows.map(({ id }) => id);
    }),
  );
  for (const id of projects) ledger.deletedProjects.add(id);
  ledger.leftUploads.push(...account.references);
  // The outcome of these starts cannot be asked for any more.
  for (const start of ledger.starts) {
    if (start.outcome === "unanswered" && ledger.deletedProjects.has(start.projectId)) {
      start.outcome = { refused: "account_deleted" };
    }
  }
  return true;
}

/** Throws when the database has been used: a run fills it and damages its data. */
export async function requireEmpty(databaseUrl: string): Promise<void> {
  const { isUsed } = await checkGivenPostgres(databaseUrl);
  if (!isUsed) return;
  throw new Error(
    "The database of KEYFRAME_DATABASE_URL has been used. A run needs an empty one: drop it and create it anew, or give another.",
  );
}

/** The real extensions' workers are processes of Postgres, which restarts them. */
const endWorkers = (sql: postgres.Sql): Promise<unknown> => sql`
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and (backend_type like 'pg_net %' or backend_type like 'pg_cron%')`;

/** Ends every connection to the database and the extensions' workers: the closest to a kill that SQL can do. */
const endEverySession = (sql: postgres.Sql): Promise<unknown> => sql`
  select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;

/** The faults that do less than their names say on a given server, a sentence each. */
export function describeGiven({ extensions }: Pick<Stack, "extensions">): string[] {
  const real = (["pg_net", "pg_cron"] as const).filter((name) => extensions[name] === "real").join(" and ");
  const workers = real === "" ? "" : `, and the workers of ${real} were ended`;
  return [
    `kill postgres: the server of KEYFRAME_DATABASE_URL was not killed. Every connection to the database was cut${workers}, by SQL.`,
    ...(real === ""
      ? []
      : [
          `kill scheduler: the workers of ${real} were ended by SQL.`,
          `scheduler hangs: the workers of ${real} did not hang. They are processes of the server of KEYFRAME_DATABASE_URL.`,
        ]),
  ];
}
