import type postgres from "postgres";
import type { ChildProcess } from "../../local/stack/child-process.ts";
import type { Behaviour } from "./receivers.ts";
import { keepKicking } from "./second-process.ts";
import { startSecondProcess } from "./start-process.ts";
import { pause } from "../../shared/platform/pause.ts";
import type { User, World } from "./world.ts";

/** How long a scenario lasts. */
export const SCENARIO_MS = 30_000;

type Scene = { world: World; accounts: User[] };
export type Scenario = {
  sentence: string;
  accounts: number;
  endpoints: number;
  behaviour: Behaviour;
  /** 95 of 100 events of another user must arrive within this time. By default the bound is relative (isolation.ts). */
  p95Ms?: number;
  run(scene: Scene, over: AbortSignal): Promise<unknown>;
};

const slowOwners = (behaviour: Behaviour, how: string): Scenario => ({
  sentence: `a hundred accounts with twenty endpoints each that ${how}, whose events come one account after another, then all at once`,
  ...{ accounts: 0, endpoints: 0, behaviour },
  run: async ({ world }, over) => {
    const owners = await addOwners(world, 100, 20, behaviour);
    for (const owner of owners) {
      if (over.aborted) break;
      await createProjects(world, owner, 2);
      await pause(100);
    }
    await Promise.all(owners.map((owner) => createProjects(world, owner, 2)));
  },
});

export const SCENARIOS: Record<string, Scenario> = {
  slow_owners: slowOwners("takes_fourteen_seconds", "answer after fourteen seconds"),
  hanging_owners: slowOwners("hangs", "never answer"),
  dripping_owners: slowOwners("answers_byte_by_byte", "answer byte by byte"),
  failing_owners: {
    sentence: "six accounts with twenty endpoints each that answer 500",
    ...{ accounts: 0, endpoints: 0, behaviour: "server_error" },
    run: async ({ world }, over) => {
      await keepCreating(world, await addOwners(world, 6, 20, "server_error"), 1, over);
    },
  },
  open_transactions: {
    sentence:
      "open transactions that have created a project, changed and deleted endpoints, deliveries, settings and an account",
    ...{ accounts: 2, endpoints: 2, behaviour: "well" },
    run: async ({ world, accounts }, over) => {
      const [first, second] = accounts;
      await Promise.all(accounts.map((account) => createProjects(world, account.userId, 5)));
      const owner = first?.userId ?? "";
      const open = (statement: Statement) => keepOpen(world, over, statement);
      await Promise.all([
        open((sql) => sql`insert into keyframe.projects (owner_id, title, text_prompt) values (${owner}, 'Open', 'p')`),
        open((sql) => sql`update keyframe.webhook_endpoints set description = 'open' where owner_id = ${owner}`),
        open((sql) => sql`update keyframe.webhook_deliveries set created_at = created_at where owner_id = ${owner}`),
        open((sql) => sql`update keyframe_private.settings set max_failures = max_failures where only_row`),
        open((sql) => sql`delete from auth.users where id = ${second?.userId ?? ""}`),
      ]);
    },
  },
  slow_calls: {
    sentence: "calls of the database by deliver that take two seconds",
    ...{ accounts: 1, endpoints: 4, behaviour: "well", p95Ms: 15_000 },
    run: async ({ world, accounts }, over) => {
      await world.sql.unsafe(SLOW_CLAIMS);
      try {
        await keepCreating(world, idsOf(accounts), 4, over);
      } finally {
        await world.sql`drop function public.take_time() cascade`;
      }
    },
  },
  unreadable_secrets: {
    sentence: "two accounts whose endpoints' secrets cannot be decrypted",
    ...{ accounts: 2, endpoints: 10, behaviour: "well" },
    run: async ({ world, accounts }, over) => {
      const owners = idsOf(accounts);
      await world.sql`
        update vault.secrets v set secret = 'AAAA' where v.id in (
          select s.vault_secret_id from keyframe_private.webhook_secrets s
          join keyframe.webhook_endpoints e on e.id = s.endpoint_id where e.owner_id = any (${list(owners)}::text::uuid[]))`;
      await keepCreating(world, owners, 3, over);
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
    // A frozen process keeps its lanes for a lease of ten seconds.
    ...{ accounts: 2, endpoints: 10, behaviour: "slow", p95Ms: 10_500 },
    run: async ({ world, accounts }, over) => {
      const other = await startSecondProcess(world, "keyframe-deliver");
      try {
        const kicking = keepKicking(world, `${other.origin}/keyframe-deliver`, SCENARIO_MS, 0);
        const working = keepCreating(world, idsOf(accounts), 5, over);
        for (const child of [world.stack.children.get("keyframe-deliver"), other.child]) await freeze(child, over);
        await Promise.all([kicking, working]);
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

/** Accounts with endpoints, by SQL: sign-up would take minutes. Returns their ids. */
async function addOwners(
  { sql, receivers }: World,
  owners: number,
  endpoints: number,
  behaviour: Behaviour,
): Promise<string[]> {
  for (let j = 1; j <= endpoints; j++) receivers.setBehaviour(`slow-${j}`, behaviour);
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

type Statement = (sql: postgres.ReservedSql) => Promise<unknown>;

/** Keeps the transaction of a statement open until the end of the scenario, and takes it back. */
async function keepOpen({ sql }: World, over: AbortSignal, statement: Statement): Promise<void> {
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

/** Each claim updates this row. */
const SLOW_CLAIMS = `
  create function public.take_time() returns trigger language plpgsql as 'begin perform pg_sleep(2); return new; end';
  create trigger take_time before update on keyframe_private.worker_heartbeats
  for each row when (new.function_name = 'deliver') execute function public.take_time()`;

const idsOf = (users: User[]): string[] => users.map(({ userId }) => userId);

/** Commits so many projects of each user, and again a second later, until the end of the scenario. */
async function keepCreating(world: World, users: string[], each: number, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await Promise.all(users.map((user) => createProjects(world, user, each)));
    await pause(1_000);
  }
}

/** Commits so many projects of a user at once, each with an event. Returns their ids. */
export async function createProjects({ sql }: World, userId: string, count: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    insert into keyframe.projects (owner_id, title, text_prompt) select ${userId}, 'Isolation', 'p' from generate_series(1, ${count}::int)
    returning id`;
  return rows.map(({ id }) => id);
}
