import type postgres from "postgres";
import { Webhook } from "standardwebhooks";
import { beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { fillVault } from "../../../local/stack/apply-migrations.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { clearPredictions, emptyTables } from "../../support/database/empty-tables.ts";
import { callWorker, claim, complete, makeDue, providerSays } from "../../support/database/calls.ts";
import {
  addWorld,
  type Row,
  seedPrediction,
  type Status,
  useWorld,
  type World,
} from "../../support/database/predictions.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";
import { start } from "../../support/database/user.ts";
import { addEndpoint, call, clearWebhooks, exchange, seedDeliveries } from "../../support/database/webhooks.ts";

const { kickSecret } = inject("stack");
const FUNCTIONS_URL = "http://127.0.0.1:9/functions/v1";

const db = useDatabase();
const world = useWorld(db);
let other: World;
beforeAll(async () => {
  await fillVault(db.sql, { keyframe_functions_url: FUNCTIONS_URL, keyframe_kick_secret: kickSecret });
});
beforeEach(async () => {
  await clearWebhooks(db.sql);
  other = await addWorld(db);
  for (const { owner } of [world, other]) await addEndpoint(db.sql, owner);
  await clearPredictions(db.sql, "heartbeats", "kicks");
  await emptyTables(db.sql, "net.http_request_queue");
});

type Sql = postgres.Sql | postgres.TransactionSql;
/** Makes new work for each function: an admitted prediction, or an event that an endpoint gets. */
const WORK: Record<string, (sql: Sql, of: World, rows: number) => Promise<unknown>> = {
  generate: (sql, { project }, rows) => sql`
    insert into keyframe.predictions (project_id, step) select ${project}, 'first-frame' from generate_series(1, ${rows}::int)`,
  deliver: (sql, { owner }, rows) => sql`
    insert into keyframe.projects (owner_id, title, text_prompt) select ${owner}, 't', 'p' from generate_series(1, ${rows}::int)`,
};

type Kick = { method: string; url: string; headers: Record<string, string>; body: string; timeout: number };
const kicks = () => db.sql<Kick[]>`
  select method, url, headers, convert_from(body, 'UTF8') as body, timeout_milliseconds as timeout from net.http_request_queue order by id`;

/** How many kicks to a function something makes. */
async function kicksOf(work: () => Promise<unknown>, name = "generate"): Promise<number> {
  const count = async () => (await kicks()).filter(({ url }) => url.endsWith(name)).length;
  const before = await count();
  await db.sql`update keyframe_private.kicks set made_at = made_at - interval '1 second'`; // the last one stops others for 100 ms
  await work();
  return (await count()) - before;
}

const UNDONE = new Error("taken back");
const READY = { columns: { attempt: 0, lease_token: null, due_at: new Date(0) } };

describe.each(Object.keys(WORK))("kicks to %s", (name) => {
  const work = async (sql: Sql = db.sql, of = world, rows = 1) => await WORK[name]?.(sql, of, rows);
  const look = (heartbeatMs: number) => db.sql`select keyframe_private.record_heartbeat(${name}, ${heartbeatMs}, '{}')`;

  test("new work → a signed kick to this function only, with an id of its own, the present time and a timeout", async () => {
    for (let i = 0; i < 2; i++) await kicksOf(work);
    const made = await kicks();
    expect(new Set(made.map(({ headers }) => headers["webhook-id"])).size).toBe(2);
    for (const kick of made) {
      const url = `${FUNCTIONS_URL}/keyframe-${name}`;
      expect(kick).toMatchObject({ method: "POST", url, body: "{}", timeout: 5000 });
      expect(kick.headers["Content-Type"]).toBe("application/json");
      expect(Math.abs(Number(kick.headers["webhook-timestamp"]) - Date.now() / 1000)).toBeLessThan(60);
      expect(new Webhook(kickSecret).verify(kick.body, kick.headers)).toEqual({});
      expect(() => new Webhook(kickSecret).verify(`${kick.body} `, kick.headers)).toThrow();
    }
  });

  const undo = (sql: Sql) => work(sql).then(() => Promise.reject(UNDONE));
  test.each<[string, number, (sql: postgres.TransactionSql) => Promise<unknown>]>([
    ["twenty rows in one statement", 1, async (sql) => await work(sql, world, 20)],
    ["two statements in one transaction", 1, async (sql) => [await work(sql), await work(sql)]],
    ["another transaction while the first is open", 2, async (sql) => [await work(sql), await work(db.sql, other)]],
    ["another transaction just after a committed one", 1, async () => [await work(), await work(db.sql, other)]],
    [
      "a savepoint that is undone, then again",
      1,
      async (sql) => [await sql.savepoint(undo).catch(() => 0), await work(sql)],
    ],
    ["a transaction that is rolled back", 0, undo],
  ])("new work, %s → kicks: %i", async (_what, count, burst) => {
    const undone = (error: unknown) => expect(error).toBe(UNDONE);
    expect(await kicksOf(() => db.sql.begin(burst).catch(undone), name)).toBe(count);
  });

  test("a live heartbeat → no kick; after a final claim, expiry, another worker's heartbeat, a clock set back → a kick", async () => {
    await db.sql`select keyframe_private.record_heartbeat('another', 60000, '{}')`;
    expect(await kicksOf(() => work(), name)).toBe(1);
    expect(await kicksOf(() => look(60_000).then(() => work()), name)).toBe(0);
    expect(await kicksOf(() => look(0).then(() => work()), name)).toBe(1);
    await look(60_000);
    for (const away of ["-1 millisecond", "1 hour"]) {
      await db.sql`update keyframe_private.heartbeats set alive_until = clock_timestamp() + ${away}::interval`;
      expect(await kicksOf(() => work(db.sql, other), name)).toBe(1);
    }
  });
});

test("the secret is changed in the Vault → the next kick is signed with it", async () => {
  const secret = `whsec_${btoa("a new secret, long enough for it")}`;
  await fillVault(db.sql, { keyframe_kick_secret: secret });
  await start(db, world);
  await fillVault(db.sql, { keyframe_kick_secret: kickSecret });
  const [kick] = await kicks();
  expect(new Webhook(secret).verify(kick?.body ?? "", kick?.headers ?? {})).toEqual({});
});

describe("the record of kicks", () => {
  type Kept = { name: string; request: string | null; error: string | null; acknowledged: boolean };
  const kept = async (sql: Sql = db.sql) => [
    ...(await sql<Kept[]>`
      select function_name as name, request_id as request, error, acknowledged_at is not null as acknowledged
      from keyframe_private.kicks order by id`),
  ];
  const lastRequest = async () => (await db.sql`select max(id) as id from net.http_request_queue`)[0]?.id;

  test("a kick → stored with pg_net's request id; the first claim after it acknowledges it", async () => {
    expect(await kept()).toEqual([]);
    await start(db, world);
    const first = { name: "generate", request: await lastRequest(), error: null };
    expect(await kept()).toEqual([{ ...first, acknowledged: false }]);
    await claim(db.sql, 1);
    const [row] = await db.sql`select * from keyframe_private.kicks`;
    await claim(db.sql, 1);
    expect((await db.sql`select * from keyframe_private.kicks`)[0]).toEqual(row);
    await db.sql`select keyframe_private.kick('generate')`;
    const second = { ...first, request: await lastRequest(), acknowledged: false };
    expect(await kept()).toEqual([{ ...first, acknowledged: true }, second]);
  });

  test("a transaction that has kicked stays open → no claim, kick, new work or sweep waits for it or relies on it", async () => {
    await db.sql.begin(async (sql) => {
      await WORK.generate?.(sql, world, 1);
      await db.sql.begin(async (second) => {
        await second`set local statement_timeout = '5s'`; // unlike a lock_timeout, nobody's exception handler takes it
        await callWorker(second, "claim_tasks", { worker_id: crypto.randomUUID(), max_rows: 1 });
        expect((await second`select keyframe_private.kick('generate') as made`)[0]?.made).toBe(true);
      });
      expect(await kicksOf(() => WORK.generate?.(db.sql, other, 1) ?? Promise.reject())).toBe(1);
    });
    await db.sql.begin(async (sql) => {
      await WORK.generate?.(sql, world, 1);
      expect(await kicksOf(() => db.sql`select keyframe_private.sweep()`)).toBe(1);
    });
  });

  test("a kick older than an hour → deleted by the pruning job", async () => {
    await start(db, world);
    await db.sql`insert into keyframe_private.kicks (function_name, made_at, request_id) values ('generate', now() - interval '61 minutes', 1)`;
    await db.sql`select keyframe_private.prune()`;
    expect(await kept()).toHaveLength(1);
  });
});

describe("the causes of kicks to generate", () => {
  test("a prediction is admitted → a kick; a prediction waits → none; that prediction is admitted → a kick", async () => {
    for (let i = 0; i < 4; i++) expect(await kicksOf(() => start(db, world))).toBe(1);
    expect(await kicksOf(() => start(db, world))).toBe(0);
    const [task] = await claim(db.sql, 1);
    expect(await kicksOf(() => providerSays(db.sql, { id: task?.id ?? "", run: "run-1", status: "failed" }))).toBe(1);
  });

  test("progress at the provider → no kick; an output to store → a kick; the end with no prediction waiting → none", async () => {
    const { id, lease } = await seedPrediction(db.sql, world);
    const says = (status: string) => () => providerSays(db.sql, { id, run: "run-1", status, lease: lease ?? "" });
    for (const status of ["starting", "processing"]) expect(await kicksOf(says(status))).toBe(0);
    expect(await kicksOf(says("succeeded"))).toBe(1);
    const [task] = await claim(db.sql);
    expect(await kicksOf(() => complete(db.sql, id, task?.lease_token ?? null))).toBe(0);
  });

  test("a run to cancel → one kick; the cancel task is claimed → none", async () => {
    const { id } = await seedPrediction(db.sql, world, { status: "processing" });
    const cancel = () =>
      db.asUser(world.owner, (sql) => sql`select keyframe.cancel_prediction(${world.project}, ${id})`);
    expect(await kicksOf(cancel)).toBe(1);
    expect(await kicksOf(cancel)).toBe(0);
    expect(await kicksOf(() => claim(db.sql))).toBe(0);
  });

  test("generate stops while more is due → a kick; its heartbeat goes on, or nothing is due → none", async () => {
    for (let at = 0; at < 2; at++) await seedPrediction(db.sql, world, READY);
    expect(await kicksOf(() => claim(db.sql, 0, { heartbeatMs: 300 }))).toBe(0);
    expect(await kicksOf(() => claim(db.sql, 0))).toBe(1);
    expect(await kicksOf(() => claim(db.sql, 1))).toBe(1);
    await claim(db.sql);
    expect(await kicksOf(() => claim(db.sql, 0))).toBe(0);
  });

  test("a project with files is deleted → one kick; a project without files → none", async () => {
    for (let take = 0; take < 2; take++) await seedPrediction(db.sql, world, { status: "succeeded" });
    const remove = ({ project }: World) => db.sql`delete from keyframe.projects where id = ${project}`;
    expect(await kicksOf(() => remove(world))).toBe(1);
    await emptyTables(db.sql, "keyframe_private.file_removals");
    expect(await kicksOf(() => remove(other))).toBe(0);
  });
});

describe("a kick that cannot be made", () => {
  const UNREADABLE =
    /The Vault lacks keyframe_functions_url or keyframe_kick_secret, cannot decrypt it, or was locked\./;
  test.each([
    ["the Vault is empty", "delete from vault.secrets", UNREADABLE],
    ["the Vault has another key", "update vault.secrets set secret = 'bm90IHJlYWRhYmxl'", UNREADABLE],
    [
      "the address is no URL",
      "select vault.update_secret(id, 'not a url') from vault.secrets where name like '%_url'",
      /URL/,
    ],
    ["net.http_post is gone", "drop function net.http_post", /does not exist/],
  ])(
    "a kick cannot be made because %s → project, event and delivery are saved, and the kick's row has the error",
    async (_name, breakage, error) => {
      await rolledBack(db.sql, async (sql) => {
        await sql.unsafe(breakage);
        await sql`select set_config('request.jwt.claims', ${JSON.stringify({ sub: world.owner })}, true)`;
        await sql`set local role authenticated`;
        const [row] = await sql`
        select keyframe.start_prediction(${world.project}, 'first-frame') -> 'prediction' ->> 'status' as status,
          keyframe.create_project('t', 'p') -> 'project' ->> 'title' as title`;
        expect(row).toEqual({ status: "queued", title: "t" });
        await sql`reset role`;
        const [counts] = await sql`
        select (select count(*)::int from keyframe.webhook_events where owner_id = ${world.owner}) as events,
          (select count(*)::int from keyframe.webhook_deliveries) as deliveries, (select count(*)::int from net.http_request_queue) as kicks`;
        expect(counts).toEqual({ events: 1, deliveries: 1, kicks: 0 });
        const kept = await sql`select error from keyframe_private.kicks where request_id is null`;
        expect(kept.map((kick) => kick.error)).toEqual(Array(2).fill(expect.stringMatching(error)));
      });
    },
  );
});

describe("the causes of kicks to deliver", () => {
  const kicksToDeliver = (work: () => Promise<unknown>) => kicksOf(work, "deliver");
  let endpoint: string;
  beforeEach(async () => {
    await clearWebhooks(db.sql);
    endpoint = await addEndpoint(db.sql, world.owner);
  });

  test("a prediction ends → a kick to deliver; an event that no endpoint gets → none", async () => {
    const { id, lease } = await seedPrediction(db.sql, world, { status: "storing" });
    expect(await kicksToDeliver(() => complete(db.sql, id, lease))).toBe(1);
    expect(await kicksToDeliver(async () => await WORK.deliver?.(db.sql, other, 1))).toBe(0);
  });

  test("a test event, a redelivery, a recovery, an endpoint enabled again → one kick each to deliver", async () => {
    const [delivery = ""] = await seedDeliveries(db.sql, endpoint, 1);
    const ask = (name: string, args: Record<string, string | boolean | Date>) =>
      kicksToDeliver(() => call(db, world.owner, name, args));
    expect(await ask("test_webhook_endpoint", { endpoint_id: endpoint })).toBe(1);
    expect(await ask("redeliver_webhook", { delivery_id: delivery })).toBe(1);
    await db.sql`update keyframe.webhook_deliveries set status = 'exhausted', completed_at = now(), last_error = 'dns' where id = ${delivery}`;
    expect(await ask("recover_webhook_endpoint", { endpoint_id: endpoint, since: new Date(0) })).toBe(1);
    expect(await ask("update_webhook_endpoint", { endpoint_id: endpoint, enabled: false })).toBe(0);
    expect(await ask("update_webhook_endpoint", { endpoint_id: endpoint, enabled: true })).toBe(1);
  });

  test("deliver's last claim leaves something due → a kick; a claim with a heartbeat, or that leaves nothing → none", async () => {
    const claim = (heartbeatMs: number, maxRows = 100) => exchange(db.sql, { heartbeatMs, maxRows });
    expect(await kicksToDeliver(() => claim(0))).toBe(0);
    for (const id of [endpoint, await addEndpoint(db.sql, null)]) await seedDeliveries(db.sql, id, 20);
    expect(await kicksToDeliver(() => claim(300, 1))).toBe(0);
    expect(await kicksToDeliver(() => claim(0, 0))).toBe(1);
  });
});

describe("the sweep", () => {
  const soon = () => new Date(Date.now() + 60_000);
  const seed = (status: Status, columns: Row = {}) => seedPrediction(db.sql, world, { status, columns });
  const seedFor =
    (columns: object = {}) =>
    async () =>
      seedDeliveries(db.sql, await addEndpoint(db.sql, world.owner), 3, columns);
  const makeAllDue = () =>
    db.sql`update keyframe_private.work set due_at = now() - interval '1 second' where queue = 'deliver'`;
  const LATER = { next_attempt_at: soon() };
  const ENDED = { status: "delivered", completed_at: new Date() };
  const LINE = { admitted_at: null, deadline_at: null, lease_token: null };
  const lateRun = (id: string) => providerSays(db.sql, { id, run: "run-late" });
  type Case = [
    of: string,
    what: string,
    kicks: number,
    () => Promise<{ id: string } | string[]>,
    (id: string) => unknown,
  ];
  const CASES: Case[] = [
    ["generate", "a back-off that has passed", 1, () => seed("queued", { lease_token: null }), () => 0],
    ["generate", "a run without a callback", 1, () => seed("processing", { lease_token: null }), () => 0],
    ["generate", "a lease that ran out", 1, () => seed("storing"), () => 0],
    ["generate", "a run to cancel", 1, () => seed("canceled"), lateRun],
    [
      "generate",
      "due work, and its heartbeat is live",
      0,
      () => seed("queued"),
      () => claim(db.sql, 0, { heartbeatMs: 60_000 }),
    ],
    ["generate", "nothing that is due yet", 0, () => seed("queued", { due_at: soon() }), () => 0],
    ["generate", "a lease that holds", 0, () => seed("storing", { due_at: soon() }), () => 0],
    ["generate", "one that waits in line behind four that run", 0, () => seed("queued", LINE), () => 0],
    ["generate", "one that has ended", 0, () => seed("succeeded"), () => 0],
    ["deliver", "what is due and no worker has read", 1, seedFor(), () => 0],
    ["deliver", "a lease that ran out", 1, seedFor(), () => exchange(db.sql).then(makeAllDue)],
    ["deliver", "a retry whose time has come", 1, seedFor(LATER), () => exchange(db.sql).then(makeAllDue)],
    ["deliver", "what is being sent", 0, seedFor(), () => exchange(db.sql)],
    ["deliver", "nothing that is due yet", 0, seedFor(LATER), () => exchange(db.sql)],
    ["deliver", "what has ended", 0, seedFor(ENDED), () => 0],
  ];
  test.each(CASES)("the sweep finds for %s: %s → kicks: %i", async (name, _what, count, seeded, then) => {
    for (let running = 0; running < 4; running++) await seed("processing", { due_at: soon() });
    const made = await seeded();
    await then("id" in made ? made.id : "");
    await emptyTables(db.sql, "net.http_request_queue, keyframe_private.kicks"); // what made it due has kicked a moment ago
    expect(await kicksOf(() => db.sql`select keyframe_private.sweep()`, name)).toBe(count);
  });

  test.each([
    ["an unanswered submit that is canceled", { unanswered: new Date() }, "select keyframe_private.mark_canceled($1)"],
    ["an output whose prediction is deleted", { status: "storing" }, "delete from keyframe.predictions where id = $1"],
  ] as const)(
    "the sweep finds %s, while a worker may have it → no kick; once the lease is over → one",
    async (_what, of, end) => {
      const { id } = await seedPrediction(db.sql, world, { columns: { due_at: soon() }, ...of });
      await db.sql.unsafe(end, [id]);
      const sweep = () => db.sql`select keyframe_private.sweep()`;
      await emptyTables(db.sql, "net.http_request_queue, keyframe_private.kicks");
      expect(await kicksOf(sweep)).toBe(0);
      await makeDue(db.sql, id);
      expect(await kicksOf(sweep)).toBe(1);
    },
  );
});
