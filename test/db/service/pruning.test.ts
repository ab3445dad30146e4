import { beforeEach, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { useWorld } from "../../support/database/predictions.ts";
import { impatiently } from "../../support/database/waiting.ts";
import { addEndpoint, clearWebhooks, seedDeliveries, sendNext } from "../../support/database/webhooks.ts";

// One row fails: an app's trigger raises, or its table refers to the row. Every other row is pruned or merged, and the one is left out.

const db = useDatabase();
const world = useWorld(db);
const LONG_AGO = "now() - interval '2 years'";
const ROWS = 20;

beforeEach(async () => {
  await db.sql`drop table if exists public.refused cascade`;
  await db.sql`create table public.refused (key text primary key)`;
  await db.sql`
    create or replace function public.refuse() returns trigger language plpgsql as $$
    begin
      if exists (select from public.refused where key = to_jsonb(old) ->> tg_argv[0]) then
        raise exception 'The app keeps this row.' using errcode = 'P0042';
      end if;
      return case tg_op when 'DELETE' then old else new end;
    end $$`;
  await db.sql`delete from keyframe_private.skipped_rows where true`;
});

const owner = () => world.owner;
/** Rows to prune or to merge, of the owner {}. */
const ROWS_OF: Record<string, string> = {
  "keyframe_private.kicks": `(function_name, made_at, request_id) select 'deliver', ${LONG_AGO}, 1`,
  "keyframe_private.cost_changes": `(owner_id, day, step, model, settled_micros)
    select '{}', (now() at time zone 'UTC')::date, 'video', 'm', 10`,
  "keyframe_private.rate_buckets": `(owner_id, route_class, tokens, refilled_at)
    select gen_random_uuid(), 'read', 0, ${LONG_AGO}`,
};

const skipped = () => db.sql`select subject, code, reason, failures from keyframe_private.skipped_rows`;

test.each([
  ["prune", "keyframe_private.kicks", "id"],
  ["merge_costs", "keyframe_private.cost_changes", "id"],
  ["prune_rate_buckets", "keyframe_private.rate_buckets", "owner_id"],
] as const)(
  "%s meets a row of %s that raises → all other rows are processed, and this one is skipped, with its reason",
  async (job, table, key) => {
    const kind = `${job === "merge_costs" ? "merge" : "delete"} ${table}`;
    const left = async () => (await db.sql.unsafe(`select from ${table}`)).count;
    await db.sql.unsafe(`truncate ${table} cascade`);
    await db.sql.unsafe(
      `insert into ${table} ${ROWS_OF[table]?.replace("{}", owner())} from generate_series(1, ${ROWS}) n`,
    );
    await db.sql.unsafe(`insert into public.refused select ${key}::text from ${table} order by random() limit 1`);
    await db.sql.unsafe(
      `create trigger refuse before delete on ${table} for each row execute function public.refuse(${key})`,
    );
    const run = () => db.sql.unsafe(`select keyframe_private.${job}()`);

    await run();
    expect(await left()).toBe(1);
    const [refused] = await db.sql<{ key: string }[]>`select key from public.refused`;
    const row = { subject: expect.stringMatching(`^${kind} .*${refused?.key}`), reason: "The app keeps this row." };
    expect(await skipped()).toEqual([{ ...row, code: "P0042", failures: 1 }]);

    const tryIn = (time: string) =>
      db.sql`update keyframe_private.skipped_rows set next_try_at = now() + ${time}::interval where true`;
    await tryIn("1 hour");
    await run();
    expect(await skipped()).toMatchObject([{ failures: 1 }]);
    await tryIn("0 s");
    await run();
    expect(await skipped()).toMatchObject([{ failures: 2 }]);

    await emptyTables(db.sql, "public.refused");
    await tryIn("0 s");
    await run();
    expect(await left()).toBe(0);
    expect(await skipped()).toEqual([]);
  },
);

test("an app's table refers to an event past its retention → the other events are deleted, and the constraint is named", async () => {
  await clearWebhooks(db.sql);
  const [event] = await db.sql`
    insert into keyframe.webhook_events (type, owner_id, payload, created_at)
    select 'webhook.test', ${owner()}, '{}', now() - interval '2 years' from generate_series(1, 5) returning id`;
  await db.sql`create table public.app_log (event_id uuid constraint app_log_event references keyframe.webhook_events)`;
  await db.sql`insert into public.app_log values (${event?.id})`;
  await db.sql`select keyframe_private.prune()`;
  expect((await db.sql`select from keyframe.webhook_events`).count).toBe(1);
  const subject = `delete keyframe.webhook_events ${event?.id}`;
  const reason = expect.stringContaining("app_log_event");
  expect(await skipped()).toMatchObject([{ subject, code: "23503", reason }]);
  await db.sql`drop table public.app_log`;
});

test("an event, another's attempt and the Vault's row of a secret are locked → pruning deletes all others without waiting", async () => {
  await clearWebhooks(db.sql);
  for (let count = 0; count < 3; count++) {
    const endpoint = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, endpoint, 1);
    await sendNext(db.sql, { status_code: 200 });
    await db.sql`select keyframe_private.replace_webhook_secret(${endpoint}, interval '1 hour')`;
  }
  await db.sql`update keyframe.webhook_events set created_at = now() - interval '2 years' where true`;
  await db.sql`update keyframe_private.webhook_secrets set expires_at = now() where expires_at is not null`;
  const left = async () => [
    (await db.sql`select from keyframe.webhook_events`).count,
    (await db.sql`select from keyframe_private.webhook_secrets where expires_at is not null`).count,
  ];
  await db.sql.begin(async (sql) => {
    const [event] = await sql`select id from keyframe.webhook_events limit 1 for update`;
    await sql`
      select from keyframe.webhook_attempts where delivery_id <> (
        select id from keyframe.webhook_deliveries where event_id = ${event?.id}) limit 1 for update`;
    await sql`
      select from vault.secrets where id = (select vault_secret_id from keyframe_private.webhook_secrets where expires_at is not null limit 1) for update`;
    await impatiently(db.sql, (other) => other`select keyframe_private.prune()`);
    expect([await left(), (await skipped()).length]).toEqual([[2, 1], 0]);
  });
  await db.sql`select keyframe_private.prune()`;
  expect(await left()).toEqual([0, 0]);
});

test("an app's trigger on one row sleeps longer than the job may take → the next runs delete all other rows, one by one", async () => {
  await emptyTables(db.sql, "keyframe_private.kicks");
  await db.sql.unsafe(
    `insert into keyframe_private.kicks (function_name, made_at, request_id) select 'deliver', ${LONG_AGO}, n from generate_series(1, ${ROWS}) n`,
  );
  await db.sql`
    create or replace function public.sleep() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return old; end $$`;
  await db.sql`create trigger sleep before delete on keyframe_private.kicks for each row when (old.request_id = 7) execute function public.sleep()`;
  const run = () =>
    db.sql.begin(async (sql) => {
      await sql`set local statement_timeout = '1s'`;
      await sql`select keyframe_private.prune()`;
    });
  const left = async () => (await db.sql`select request_id::int as id from keyframe_private.kicks`).map(({ id }) => id);
  for (let runs = 0; runs < 2; runs++) await run();
  await db.sql`update keyframe_private.skipped_rows set next_try_at = now() + interval '1 hour' where subject ~ '[0-9]$'`;
  await run();
  expect(await left()).toEqual([7]);
  const subject = expect.stringMatching(/^delete keyframe_private\.kicks \d+$/);
  expect(await skipped()).toMatchObject([{ subject, code: "57014", failures: 1 }]);
  await db.sql`drop trigger sleep on keyframe_private.kicks`;
});
