import { join } from "node:path";
import postgres from "postgres";
import { startStack } from "../../local/stack/start-stack.ts";
import type { ChildProcess } from "../../local/stack/child-process.ts";
import { addEndpoint } from "./endpoint-actions.ts";
import { measureHeldRows } from "./held-rows.ts";
import type { Verdict } from "./invariants/invariants.ts";
import { createRandom } from "./random.ts";
import { type Behaviour, Receivers } from "./receivers.ts";
import { keepKicking } from "./second-process.ts";
import { startSecondProcess } from "./start-process.ts";
import { newUser } from "./users.ts";
import { Ledger, pause, type User, type World } from "./world.ts";

/** In each scenario 95 of 100 events of a user who has nothing to do with it arrive within this time from their commit. */
export const INNOCENT_P95_MS = 1_500;

const EVENT_EVERY_MS = 200;
const SCENARIO_MS = 40_000;
/** By when every event must have come: later than a lease of a frozen worker and a sweep. */
const ARRIVAL_MS = 30_000;

type Scene = { world: World; accounts: User[] };
type Scenario = {
  sentence: string;
  accounts: number;
  endpoints: number;
  behaviour: Behaviour;
  /** By default INNOCENT_P95_MS. */
  p95Ms?: number;
  run(scene: Scene, over: AbortSignal): Promise<unknown>;
};

const SCENARIOS: Record<string, Scenario> = {
  slow_owners: {
    sentence:
      "a hundred accounts with twenty slow endpoints each, whose events come one account after another, then all at once",
    ...{ accounts: 0, endpoints: 0, behaviour: "takes_fourteen_seconds" },
    run: async ({ world }, over) => {
      const owners = await addSlowOwners(world, 100, 20);
      for (const owner of owners) {
        if (over.aborted) break;
        await createProjects(world, owner, 2);
        await pause(200);
      }
      await Promise.all(owners.map((owner) => createProjects(world, owner, 2)));
    },
  },
  open_transactions: {
    sentence:
      "open transactions that have created a project, changed and deleted endpoints, deliveries, settings and an account",
    ...{ accounts: 2, endpoints: 2, behaviour: "well" },
    run: async ({ world, accounts }, over) => {
      const [first, second] = accounts;
      await Promise.all(accounts.map((account) => createProjects(world, account.userId, 5)));
      await Promise.all([
        keepOpen(
          world,
          over,
          (sql) => sql`
          insert into keyframe.projects (owner_id, title, text_prompt) values (${first?.userId ?? ""}, 'Open', 'p')`,
        ),
        keepOpen(
          world,
          over,
          (sql) => sql`
          update keyframe.webhook_endpoints set description = 'open' where owner_id = ${first?.userId ?? ""}`,
        ),
        keepOpen(
          world,
          over,
          (sql) => sql`
          update keyframe.webhook_deliveries set created_at = created_at where owner_id = ${first?.userId ?? ""}`,
        ),
        keepOpen(
          world,
          over,
          (sql) => sql`update keyframe_private.settings set max_failures = max_failures where only_row`,
        ),
        keepOpen(world, over, (sql) => sql`delete from auth.users where id = ${second?.userId ?? ""}`),
      ]);
    },
  },
  slow_calls: {
    sentence: "calls of the database by deliver that take two seconds",
    ...{ accounts: 1, endpoints: 4, behaviour: "well", p95Ms: 15_000 },
    run: async ({ world, accounts }, over) => {
      await world.sql.unsafe(SLOW_CALLS);
      try {
        while (!over.aborted) {
          for (const { userId } of accounts) await createProjects(world, userId, 4);
          await pause(1_000);
        }
      } finally {
        await world.sql.unsafe(QUICK_CALLS);
      }
    },
  },
  unreadable_secrets: {
    sentence: "two accounts whose endpoints' secrets cannot be decrypted",
    ...{ accounts: 2, endpoints: 10, behaviour: "well" },
    run: async ({ world, accounts }, over) => {
      const owners = accounts.map(({ userId }) => userId);
      await world.sql`
        update vault.secrets v set secret = 'AAAA' where v.id in (
          select s.vault_secret_id from keyframe_private.webhook_secrets s
          join keyframe.webhook_endpoints e on e.id = s.endpoint_id where e.owner_id = any (${list(owners)}::text::uuid[]))`;
      while (!over.aborted) {
        for (const owner of owners) await createProjects(world, owner, 3);
        await pause(1_000);
      }
    },
  },
  hanging_endpoints_switched: {
    sentence: "four accounts that switch their hanging endpoints off and on",
    ...{ accounts: 4, endpoints: 5, behaviour: "hangs" },
    run: async ({ world, accounts }, over) => {
      await Promise.all(accounts.map(({ userId }) => createProjects(world, userId, 60)));
      await Promise.all(accounts.map((account) => keepSwitching(account, over)));
    },
  },
  frozen_workers: {
    sentence: "two processes of deliver, each frozen and thawed while it holds lanes",
    // A frozen process keeps its lanes for a lease of three seconds.
    ...{ accounts: 2, endpoints: 10, behaviour: "slow", p95Ms: 3_500 },
    run: async ({ world, accounts }, over) => {
      const other = await startSecondProcess(world, "keyframe-deliver");
      try {
        const kicking = keepKicking(world, `${other.origin}/keyframe-deliver`, SCENARIO_MS, 0);
        const working = accounts.map(async (account) => {
          while (!over.aborted) {
            await createProjects(world, account.userId, 5);
            await pause(1_000);
          }
        });
        for (const child of [world.stack.children.get("keyframe-deliver"), other.child]) await freeze(child, over);
        await Promise.all([kicking, ...working]);
      } finally {
        await other.stop();
      }
    },
  },
};

const THAWED_MS = 5_000;
const FROZEN_MS = 8_000;

async function freeze(child: ChildProcess | undefined, over: AbortSignal): Promise<void> {
  await pause(THAWED_MS);
  if (over.aborted) return;
  child?.kill("SIGSTOP");
  await pause(FROZEN_MS);
  child?.kill("SIGCONT");
}

async function keepSwitching({ client, endpoints }: User, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    for (const enabled of [false, true]) {
      for (const { webhookId } of endpoints) await client.webhooks.change(webhookId, { enabled });
    }
    await pause(500);
  }
}

/** Accounts with endpoints that take fourteen seconds to answer, by SQL: sign-up would take minutes. Returns their ids. */
async function addSlowOwners({ sql, receivers }: World, owners: number, endpoints: number): Promise<string[]> {
  for (let j = 1; j <= endpoints; j++) receivers.setBehaviour(`slow-${j}`, "takes_fourteen_seconds");
  const rows = await sql<{ id: string }[]>`
    insert into auth.users (id, email) select gen_random_uuid(), 'slow-' || i || '@keyframe.local' from generate_series(1, ${owners}::int) i
    returning id`;
  const urls = Array.from({ length: endpoints }, (_, j) => receivers.urlOf(`slow-${j + 1}`));
  const ids = rows.map(({ id }) => id);
  await sql`
    insert into keyframe.webhook_endpoints (owner_id, url)
    select owner, url from unnest(${list(ids)}::text::uuid[]) owner, unnest(${list(urls)}::text::text[]) url`;
  return ids;
}

/** The driver does not know the types of arrays here (fetch_types). */
const list = (values: string[]) => `{${values.join(",")}}`;

/** Keeps the transaction of a statement open until the end of the scenario, and takes it back. */
async function keepOpen(
  { sql }: World,
  over: AbortSignal,
  statement: (sql: postgres.ReservedSql) => Promise<unknown>,
): Promise<void> {
  const connection = await sql.reserve();
  try {
    await connection`begin`;
    await statement(connection);
    await new Promise((resolve) => over.addEventListener("abort", resolve));
    await connection`rollback`;
  } finally {
    connection.release();
  }
}

const ARGUMENTS = "jsonb, jsonb, integer, integer, integer, timestamptz, integer, jsonb, jsonb";
const SLOW_CALLS = `
  alter function keyframe_worker.exchange_deliveries(${ARGUMENTS}) rename to exchange_deliveries_quick;
  create function keyframe_worker.exchange_deliveries(
    results jsonb, held jsonb, max_lanes integer, lease_seconds integer, heartbeat_ms integer default null,
    at timestamptz default now(), wait_ms integer default 0, report jsonb default '{}', new_lane jsonb default '{}'
  ) returns json language plpgsql security definer set search_path = '' as $$
  begin
    perform pg_sleep(2);
    return keyframe_worker.exchange_deliveries_quick(results, held, max_lanes, lease_seconds, heartbeat_ms, at, 0, report, new_lane);
  end $$;
  grant execute on function keyframe_worker.exchange_deliveries(${ARGUMENTS}) to service_role;
  notify pgrst, 'reload schema'`;
const QUICK_CALLS = `
  drop function keyframe_worker.exchange_deliveries(${ARGUMENTS});
  alter function keyframe_worker.exchange_deliveries_quick(${ARGUMENTS}) rename to exchange_deliveries;
  notify pgrst, 'reload schema'`;

/** Commits so many projects of a user at once, each with an event. Returns their ids. */
async function createProjects({ sql }: World, userId: string, count: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    insert into keyframe.projects (owner_id, title, text_prompt) select ${userId}, 'Isolation', 'p' from generate_series(1, ${count}::int)
    returning id`;
  return rows.map(({ id }) => id);
}

/**
 * Runs each scenario on a stack of its own, without other faults, and measures how long the events of a user who has nothing to do with
 * it take from their commit to their receiver.
 */
export async function measureIsolation(
  dataDir: string,
  seed: number,
  say: (line: string) => void,
): Promise<{ verdicts: Verdict[]; figures: Record<string, number> }> {
  const storageFaultFile = join(dataDir, "storage-fault.json");
  const stack = await startStack({ dataDir, port: 0, durable: false, storageFaultFile });
  const sql = postgres(stack.databaseUrl, { max: 12, fetch_types: false, onnotice: () => undefined });
  const receivers = new Receivers();
  await receivers.open();
  const empty = {
    clients: new Map(),
    users: [],
    secondApiOrigin: null,
    hasWrongCallbackClock: false,
    replacements: [],
  };
  const world: World = {
    ...{ stack, dataDir, isGiven: false, storageFaultFile, sql, receivers },
    ledger: new Ledger(),
    ...empty,
  };
  const verdicts: Verdict[] = [];
  const figures: Record<string, number> = {};
  try {
    await sql`update keyframe_private.rate_limits set capacity = capacity * 100, per_second = per_second * 100`;
    for (const [name, scenario] of Object.entries(SCENARIOS)) {
      const delays = await measure(world, scenario, seed);
      const p95 = quantile(delays, 0.95);
      const { sentence, p95Ms = INNOCENT_P95_MS } = scenario;
      say(
        `${sentence}: an innocent user's p95 is ${p95} ms, the slowest ${delays.at(-1)} ms, of ${delays.length} events`,
      );
      figures[`innocent user's p95 in ms: ${sentence}`] = p95;
      verdicts.push({
        name: `isolation_${name}`,
        sentence: `with ${sentence}, another user's events arrive within ${p95Ms} ms (p95)`,
        broken:
          p95 < p95Ms ? [] : [`the p95 of ${delays.length} events is ${p95} ms, the slowest took ${delays.at(-1)} ms`],
      });
    }
    const held = await measureHeldRows(world, seed, say);
    return { verdicts: [...verdicts, held.verdict], figures: { ...figures, ...held.figures } };
  } finally {
    await sql.end({ timeout: 1 });
    await stack.stop();
    await receivers.close();
  }
}

/** The delays of the innocent user's events in ms, the shortest first. The scenario's accounts are deleted at its end. */
async function measure(
  world: World,
  { accounts, endpoints, behaviour, run }: Scenario,
  seed: number,
): Promise<number[]> {
  const { sql, receivers, users } = world;
  const sign = async () => {
    const user = await newUser(world, seed, users.length);
    users.push(user);
    return user;
  };
  const innocent = await sign();
  await addEndpoint(innocent, world, "steady");
  const others: User[] = [];
  for (let i = 0; i < accounts; i++) {
    const account = await sign();
    for (let j = 0; j < endpoints; j++) await addEndpoint(account, world, "steady");
    for (const { hook } of account.endpoints) receivers.setBehaviour(hook, behaviour);
    others.push(account);
  }
  const arrived = new Map<string, number>();
  receivers.onProject = (projectId) => void (arrived.has(projectId) || arrived.set(projectId, performance.now()));
  const over = AbortSignal.timeout(SCENARIO_MS);
  const scene = run({ world, accounts: others }, over);
  const sent = new Map<string, number>();
  const random = createRandom(`isolation ${seed}`);
  while (!over.aborted) {
    const began = performance.now();
    for (const id of await createProjects(world, innocent.userId, 1)) sent.set(id, began);
    await pause(EVENT_EVERY_MS * (0.5 + random.number()));
  }
  await scene;
  const end = performance.now() + ARRIVAL_MS;
  while (performance.now() < end && [...sent.keys()].some((id) => !arrived.has(id))) await pause(50);
  const delays = [...sent].map(([id, began]) => Math.round((arrived.get(id) ?? performance.now()) - began));
  receivers.reset();
  await sql`delete from auth.users where email like 'slow-%'`;
  for (const { userId } of [innocent, ...others]) await sql`delete from auth.users where id = ${userId}`;
  return delays.toSorted((a, b) => a - b);
}

const quantile = (sorted: number[], q: number): number => sorted[Math.ceil(q * sorted.length) - 1] ?? Number.NaN;
