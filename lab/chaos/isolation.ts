import { join } from "node:path";
import postgres from "postgres";
import { startStack } from "../../local/stack/start-stack.ts";
import type { ChildProcess } from "../../local/stack/child-process.ts";
import { addEndpoint } from "./endpoint-actions.ts";
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
  run(scene: Scene, over: AbortSignal): Promise<unknown>;
};

const SCENARIOS: Record<string, Scenario> = {
  slow_receivers_that_succeed: {
    sentence: "three accounts with twenty slow but successful endpoints each",
    ...{ accounts: 3, endpoints: 20, behaviour: "takes_fourteen_seconds" },
    run: ({ world, accounts }) => Promise.all(accounts.map((account) => createProjects(world, account, 30))),
  },
  hanging_endpoints_switched: {
    sentence: "four accounts that switch their hanging endpoints off and on",
    ...{ accounts: 4, endpoints: 5, behaviour: "hangs" },
    run: async ({ world, accounts }, over) => {
      await Promise.all(accounts.map((account) => createProjects(world, account, 60)));
      await Promise.all(accounts.map((account) => keepSwitching(account, over)));
    },
  },
  frozen_workers: {
    sentence: "two processes of deliver, each frozen and thawed while it holds lanes",
    ...{ accounts: 2, endpoints: 10, behaviour: "slow" },
    run: async ({ world, accounts }, over) => {
      const other = await startSecondProcess(world, "keyframe-deliver");
      try {
        const kicking = keepKicking(world, `${other.origin}/keyframe-deliver`, SCENARIO_MS, 0);
        const working = accounts.map(async (account) => {
          while (!over.aborted) {
            await createProjects(world, account, 5);
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

/** Commits so many projects of a user at once, each with an event. Returns their ids. */
async function createProjects({ sql }: World, { userId }: User, count: number): Promise<string[]> {
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
  const sql = postgres(stack.databaseUrl, { max: 6, fetch_types: false, onnotice: () => undefined });
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
      const { sentence } = scenario;
      say(
        `${sentence}: an innocent user's p95 is ${p95} ms, the slowest ${delays.at(-1)} ms, of ${delays.length} events`,
      );
      figures[`innocent user's p95 in ms: ${sentence}`] = p95;
      verdicts.push({
        name: `isolation_${name}`,
        sentence: `with ${sentence}, another user's events arrive within ${INNOCENT_P95_MS} ms (p95)`,
        broken:
          p95 < INNOCENT_P95_MS
            ? []
            : [`the p95 of ${delays.length} events is ${p95} ms, the slowest took ${delays.at(-1)} ms`],
      });
    }
    return { verdicts, figures };
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
    for (const id of await createProjects(world, innocent, 1)) sent.set(id, began);
    await pause(EVENT_EVERY_MS * (0.5 + random.number()));
  }
  await scene;
  const end = performance.now() + ARRIVAL_MS;
  while (performance.now() < end && [...sent.keys()].some((id) => !arrived.has(id))) await pause(50);
  const delays = [...sent].map(([id, began]) => Math.round((arrived.get(id) ?? performance.now()) - began));
  receivers.reset();
  for (const { userId } of [innocent, ...others]) await sql`delete from auth.users where id = ${userId}`;
  return delays.toSorted((a, b) => a - b);
}

const quantile = (sorted: number[], q: number): number => sorted[Math.ceil(q * sorted.length) - 1] ?? Number.NaN;
