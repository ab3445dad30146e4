import postgres, { type TransactionSql } from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pause } from "../../../shared/platform/retry.ts";
import { type Blocker, type ServiceFigures, serviceFigures } from "../../../shared/contract/service.ts";
import { claim, complete, providerSays } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { columnOf, useWorld } from "../../support/database/predictions.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";
import { addReference } from "../../support/database/user.ts";
import { untilSomebodyWaits } from "../../support/database/waiting.ts";
import { addEndpoint, sendNext } from "../../support/database/webhooks.ts";
import { until } from "../../support/until.ts";

// Whatever somebody holds, health answers and names the transaction that waits for nobody.

const db = useDatabase();
const world = useWorld(db);

/** As the API asks. Eight seconds are the Data API's limit; on a quiet machine this takes a third of a second. */
const ask = <T>(called: string) =>
  db.sql.begin(async (sql) => {
    await sql`set local role service_role`;
    await sql`set local statement_timeout = '5s'`;
    const [row] = await sql.unsafe(`select ${called}() as answer`);
    return row?.answer as T;
  });
const readFigures = async (): Promise<ServiceFigures> =>
  serviceFigures.strict().parse(await ask("keyframe_worker.service_figures"));
const readHealth = () => ask<{ schema: string | null; writes: string }>("keyframe.health");

const pidOf = async (sql: TransactionSql) =>
  (await sql<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid ?? 0;

describe("each table is locked, one after another", () => {
  /** Of a superuser, and open for over a second. */
  let holder: postgres.Sql;
  let pid: number;
  let tables: string[];
  beforeAll(async () => {
    holder = postgres(db.url, { max: 1 });
    await holder`begin`;
    pid = (await holder<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid ?? 0;
    const rows = await db.sql<{ name: string }[]>`
      select c.oid::regclass::text as name from pg_class c
      where c.relkind in ('r', 'p') and (c.relnamespace::regnamespace::text in ('keyframe', 'keyframe_private', 'net', 'cron')
        or c.oid = any (array['auth.users', 'vault.secrets', 'storage.objects']::regclass[])) order by 1`;
    tables = rows.map(({ name }) => name);
    await pause(1_100);
  });
  afterAll(async () => {
    await holder`rollback`;
    await holder.end();
  });

  async function whileLocked<T>(table: string, mode: string, look: () => Promise<T>): Promise<T> {
    await holder`savepoint before`;
    try {
      await holder.unsafe(`lock table ${table} in ${mode} mode`);
      return await look();
    } finally {
      await holder`rollback to before`;
    }
  }

  test("each table is locked exclusively in turn → health still answers, and names the table and the transaction", async () => {
    expect(tables.length).toBeGreaterThanOrEqual(32);
    for (const table of tables) {
      const { blockers, settings, unread } = await whileLocked(table, "access exclusive", readFigures);
      const named = { pid, role: "supabase_admin", isIdle: true, locksTables: true, blocks: 0, tables: table };
      expect([table, blockers]).toMatchObject([table, [named]]);
      expect(blockers?.[0]?.seconds).toBeGreaterThan(1);
      if (table === "vault.secrets") {
        expect(settings).toBeNull();
        expect(unread.map(({ part, code }) => [part, code])).toEqual([["settings", "55P03"]]);
      }
    }
    expect((await readFigures()).blockers).toEqual([]);
  });

  test("figures with a part whose table is locked → the part is null and listed as unread; the others are read", async () => {
    const figures = await whileLocked("keyframe_private.file_removals", "access exclusive", readFigures);
    expect(figures.unread).toEqual([
      { part: "fileRemovals", code: "55P03", reason: "canceling statement due to lock timeout" },
    ]);
    expect(figures.fileRemovals).toBeNull();
    expect(figures.predictions).toMatchObject({ queued: 0 });
  });

  test("each table that a project, a start or a result writes, locked in turn → plain health says that writes are locked", async () => {
    const image = await addReference(db, world.owner);
    await addEndpoint(db.sql, world.owner);
    const isGuarded = (table: string) => table === "keyframe_private.heartbeats"; // a claim goes on without its heartbeat
    let written: string[] = [];
    await rolledBack(db.sql, async (sql) => {
      const writes = () =>
        columnOf(sql`
          select relid::regclass || ' ' || n_tup_ins + n_tup_upd + n_tup_del as name from pg_stat_xact_user_tables
          where schemaname in ('keyframe', 'keyframe_private') and n_tup_ins + n_tup_upd + n_tup_del > 0 order by 1`);
      const before = await writes(); // by earlier transactions of the connection
      const claims = JSON.stringify({ sub: world.owner, role: "authenticated" });
      await sql`select set_config('request.jwt.claims', ${claims}, true)`;
      await sql`select keyframe.create_project('Harbour', 'A harbour at dawn', '', '16:9', 'project', ${"b".repeat(64)})`;
      const input = JSON.stringify({ referenceImagePaths: [image] });
      await sql`select keyframe.start_prediction(${world.project}, 'first-frame', ${input}::text::jsonb, null, 'key', ${"a".repeat(64)})`;
      await sql`select set_config('request.jwt.claims', '', true)`;
      const [submit] = await claim(sql, 10, { heartbeatMs: 300 });
      if (!submit) throw new Error("Nothing was claimed.");
      const { id, lease_token: lease } = submit;
      await providerSays(sql, { id, run: "run-1", status: "succeeded", lease });
      const [copy] = await claim(sql, 10, { heartbeatMs: 300 });
      expect(await complete(sql, id, copy?.lease_token ?? null)).toBe(true);
      expect((await sendNext(sql, { status_code: 200 })).length).toBeGreaterThan(0);
      written = (await writes()).filter((each) => !before.includes(each)).map((each) => each.replace(/ .*/, ""));
    });
    expect(written.length).toBeGreaterThan(10);
    const unseen: string[] = [];
    for (const table of written)
      if ((await whileLocked(table, "share", readHealth)).writes !== "locked") unseen.push(table);
    expect(unseen).toEqual(written.filter(isGuarded));
  });

  test.each([
    ["keyframe_private.rate_buckets", "access exclusive"],
    ["keyframe_private.settings", "access exclusive"],
    ["keyframe_private.installation", "access exclusive"],
    ["auth.users", "exclusive"],
  ])("%s locked in %s mode → plain health says that writes are locked", async (table, mode) => {
    expect((await whileLocked(table, mode, readHealth)).writes).toBe("locked");
    expect((await readHealth()).writes).toBe("ok");
  });
});

test("three tables freed in turn, a fourth that stays locked → plain health waits for 300 ms in all, not for each lock", async () => {
  const tables = ["keyframe.projects", "keyframe.webhook_events", "auth.users", "keyframe.models"];
  const holders = postgres(db.url, { max: tables.length });
  const answered = Promise.withResolvers<void>();
  const held = tables.map((table, place) => {
    const locked = Promise.withResolvers<void>();
    const freed = holders.begin(async (sql) => {
      await sql`lock table ${sql(table)} in access exclusive mode`;
      locked.resolve();
      await (place < 3 ? pause(250 * (place + 1)) : answered.promise);
    });
    return { locked: locked.promise, freed };
  });
  await Promise.all(held.map(({ locked }) => locked));
  const [row] = await db.sql<{ writes: string; milliseconds: number }[]>`
    select h ->> 'writes' as writes, extract(epoch from clock_timestamp() - statement_timestamp())::float8 * 1000 as milliseconds
    from (select keyframe.health() as h offset 0) asked`;
  answered.resolve();
  await Promise.all(held.map(({ freed }) => freed));
  await holders.end();
  expect(row?.writes).toBe("locked");
  expect(row?.milliseconds).toBeLessThan(600); // 1,050 if each lock were waited for so long
});

/** The transactions that health would name if it had looked half a minute later. */
async function blockersLater(): Promise<Blocker[]> {
  const [row] = await db.sql<{ blockers: Blocker[] }[]>`
    select keyframe_private.blocker_figures(locked_for => '0', held_for => '0') as blockers`;
  return row?.blockers ?? [];
}

test("transactions that wait for one another → health names only the one that waits for nobody, with how many wait for it", async () => {
  let chain: Promise<unknown>[] = [];
  await db.sql.begin(async (first) => {
    await first`select from keyframe.projects where id = ${world.project} for update`;
    chain = ["second", "third"].map((name) =>
      db.sql.begin(async (sql) => {
        await sql`update keyframe_private.rate_limits set capacity = capacity where route_class = ${name === "second" ? "read" : "create"}`;
        if (name === "third")
          await sql`update keyframe_private.rate_limits set capacity = capacity where route_class = 'read'`;
        await sql`update keyframe.projects set title = title where id = ${world.project}`;
      }),
    );
    const pid = await pidOf(first);
    const blockers = await until("both wait", async () => {
      const found = await blockersLater();
      return found.some(({ blocks }) => blocks === 2) && found;
    });
    expect(blockers).toEqual([
      expect.objectContaining({ pid, blocks: 2, tables: "keyframe.projects", locksTables: false }),
    ]);
    // As GET /api/health?deep=1 asks: they have waited for a second.
    const named = await until("named", async () => {
      const found = (await readFigures()).blockers;
      return found !== null && found.length > 0 && found;
    });
    expect(named.map((blocker) => blocker.pid)).toEqual([pid]);
    const waitedForASecond = await db.sql`
      select from pg_locks where not granted and waitstart < clock_timestamp() - interval '1 second'`;
    expect(waitedForASecond).not.toHaveLength(0);
  });
  await Promise.all(chain);
});

test.each([
  ["deletes work", "delete from keyframe_private.work where true", "keyframe_private.work"],
  ["holds the settings", "select from keyframe_private.settings for update", "keyframe_private.settings"],
])(
  "a transaction that %s → health names it after twenty seconds; readers are never named",
  async (_what, statement, table) => {
    await db.sql.begin(async (sql) => {
      await sql`select from keyframe.projects`;
      expect(await blockersLater()).toEqual([]);
      await sql.unsafe(statement);
      expect(await blockersLater()).toEqual([expect.objectContaining({ pid: await pidOf(sql), tables: table })]);
      expect((await readFigures()).blockers).toEqual([]);
    });
  },
);

const READ = "select from keyframe.projects";

describe("sessions that have waited for over a second", () => {
  /** What health names while `waiter` waits behind `holder`, and the process of `holder`. */
  async function namedWhile(
    holder: string,
    waiter: string,
    meanwhile?: () => Promise<unknown>,
  ): Promise<[named: Blocker[], pid: number]> {
    const sessions = postgres(db.url, { max: 2, onnotice: () => undefined });
    const [first, second] = [await sessions.reserve(), await sessions.reserve()];
    const [row] = await first<{ pid: number }[]>`select pg_backend_pid() as pid`;
    await first.unsafe(`begin; ${holder}`);
    const waits = second.unsafe(`begin; ${waiter}`).execute();
    try {
      await until("it has waited for a second", async () => {
        const old = await db.sql`select from pg_locks where not granted and waitstart < now() - interval '1.1 seconds'`;
        return old.length > 0;
      });
      await meanwhile?.();
      return [(await readFigures()).blockers ?? [], row?.pid ?? 0];
    } finally {
      await first.unsafe("rollback; select pg_advisory_unlock_all()");
      await waits;
      await second.unsafe("rollback");
      first.release();
      second.release();
      await sessions.end();
    }
  }

  test.each([
    ["a table of the app", "lock table public.app_things", "lock table public.app_things"],
    [
      "a table of the app, after a read of ours",
      "lock table public.app_things",
      `${READ}; lock table public.app_things`,
    ],
    [
      "a row of the app, after a read of ours",
      "update public.app_things set n = 2",
      `${READ}; update public.app_things set n = 3`,
    ],
    [
      "an advisory lock of the app's idle session",
      "rollback; select pg_advisory_lock(7)",
      "select pg_advisory_xact_lock(7)",
    ],
  ])("for %s → nothing is named", async (_what, holder, waiter) => {
    await db.sql`create table if not exists public.app_things as select 1 as n`;
    expect((await namedWhile(holder, waiter))[0]).toEqual([]);
  });

  const lock = `${READ}; select keyframe_private.acquire_lock('slots', null)`;
  const insert =
    "insert into keyframe_private.rate_limits select 'new', capacity, per_second from keyframe_private.rate_limits limit 1";
  test.each([
    ["an advisory lock, after a read of ours", lock, lock],
    ["an equal key of ours", insert, insert],
    ["a row of auth.users", "delete from auth.users where true", "select from auth.users for key share"],
  ])("for %s → its holder is named", async (_what, holder, waiter) => {
    const [named, pid] = await namedWhile(holder, waiter);
    expect(named).toMatchObject([{ pid, blocks: 1, waitsFor: null }]);
  });

  test("to change a table behind a reader, and others behind it → it is named, and the reader as what it waits for", async () => {
    let third: Promise<unknown> | undefined;
    const [named, reader] = await namedWhile(READ, "alter table keyframe.projects add column n int", async () => {
      third = db.sql`select from keyframe.projects`.execute();
      await untilSomebodyWaits(db.sql, 2);
      await pause(1_100);
    });
    await third;
    expect(named).toMatchObject([{ blocks: 1, waitsFor: reader, tables: "keyframe.projects", locksTables: true }]);
    expect(named[0]?.pid).not.toBe(reader);
  });
});

test("an app's open insert that refers to a user, and pg_net's open batch → not named while nobody waits", async () => {
  await db.sql`create table public.app_notes (owner uuid references auth.users)`;
  await db.sql.begin(async (sql) => {
    await sql`insert into public.app_notes values (${world.owner})`;
    await sql`delete from net.http_request_queue where true`;
    expect(await blockersLater()).toEqual([]);
  });
});
