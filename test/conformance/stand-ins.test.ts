import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Installed, installExtensions } from "../../local/extensions/install-extensions.ts";
import { isDue } from "../../local/extensions/pg-cron-worker.ts";
import { freePort } from "../../local/network.ts";
import { type RunningPostgres, startPostgres } from "../../local/postgres/start-postgres.ts";
import { ChildProcess } from "../../local/stack/child-process.ts";
import { describeScheduler } from "../../local/stack/describe-children.ts";
import { until } from "../support/until.ts";
import { startReceiver } from "./support/receiver.ts";

// What is true of the stand-ins only, or cannot be tried on a server that is not ours to kill.
let folder: string;
let server: RunningPostgres;
let sql: postgres.Sql;
let scheduler: ChildProcess | undefined;
const STAND_INS = {
  pg_net: "stand-in",
  pg_cron: "stand-in",
  supabase_vault: "stand-in",
  notes: [],
} satisfies Installed;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keyframe-stand-ins-"));
  await Deno.chmod(folder, 0o755);
  server = await startPostgres({ dataDir: join(folder, "data"), durable: false, port: freePort() });
  sql = postgres(server.url, { max: 4, onnotice: () => undefined });
  for (const role of ["anon", "authenticated", "service_role", "postgres"]) await sql.unsafe(`create role ${role}`);
});

afterAll(async () => {
  await scheduler?.stop();
  await sql.end({ timeout: 1 });
  await server.stop();
  await rm(folder, { recursive: true });
});

describe("installing", () => {
  test("a plain Postgres → gets all three stand-ins; installed a second time → the data stay", async () => {
    expect(await installExtensions(sql)).toEqual(STAND_INS);
    await sql`select vault.create_secret('kept', 'kept'), cron.schedule('kept', '0 0 1 1 *', 'select 1')`;
    expect(await installExtensions(sql, { useReal: false })).toEqual(STAND_INS);
    const [row] = await sql`
      select (select decrypted_secret from vault.decrypted_secrets where name = 'kept') as secret,
        (select count(*)::int from cron.job where jobname = 'kept') as jobs`;
    expect(row).toEqual({ secret: "kept", jobs: 1 });
  });

  test("the real pg_net in a database that it does not work for → refused, with the setting and what to do", async () => {
    const url = new URL(server.url);
    url.pathname = "/not_served";
    await sql`create database not_served`;
    await sql`alter database not_served set "pg_net.database_name" = 'postgres'`;
    const other = postgres(url.href, { max: 1, onnotice: () => undefined });
    // This is how the real one is recognised; a server of the tests' own does not have it.
    await other`
      insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      values (1, 'pg_net', 10, 'public'::regnamespace, false, '0.20.4')`;
    await expect(installExtensions(other)).rejects.toThrow(
      "pg_net is installed in the database not_served but does nothing for it, because pg_net.database_name is postgres: " +
        "set it to not_served in postgresql.conf and restart Postgres.",
    );
    await other.end();
    await sql`drop database not_served`;
  });

  test("functions with their owner's rights → have an empty search path", async () => {
    const open = await sql`
      select oid::regprocedure::text from pg_proc
      where pronamespace in ('net'::regnamespace, 'cron'::regnamespace, 'vault'::regnamespace)
        and not coalesce(proconfig @> array['search_path=""'], false)`;
    expect([...open]).toEqual([]);
  });
});

test.each([
  ["37 * * * *", "2026-03-01T10:37Z", "2026-03-01T10:38Z"],
  ["0 3 * * *", "2026-03-01T03:00Z", "2026-03-01T15:00Z"],
  ["5,10-12 */6 * 1-12/5 *", "2026-06-07T12:11Z", "2026-05-07T12:11Z"],
  ["0 0 * * 7", "2026-03-01T00:00Z", "2026-03-02T00:00Z"],
  ["0 3 * * * 5", "2026-03-01T03:00Z", "2026-03-01T04:00Z"], // what follows five fields is ignored
  ["0 0 6 * 1", "2026-03-06T00:00Z", "2026-03-07T00:00Z"], // a day and a weekday: either
])("the schedule %s → due at %s, not at %s", (schedule, due, other) => {
  expect([isDue(schedule, new Date(due)), isDue(schedule, new Date(other))]).toEqual([true, false]);
});

describe("the scheduler", () => {
  test("pg_net's worker is killed → the next one, which starts by itself, sends the batch again, whole", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const receiver = startReceiver(async (path) => {
      if (path === "/slow" && receiver.countOf("/slow") === 1) await released;
      return new Response("done");
    });
    scheduler = new ChildProcess(describeScheduler({ dataDir: folder }, server.url, STAND_INS));
    await scheduler.start();
    await sql`select net.http_post(${`${receiver.url}/slow`}), net.http_post(${`${receiver.url}/quick`})`;
    await Promise.all([receiver.of("/slow"), receiver.of("/quick")]);
    scheduler.kill("SIGKILL");
    await until("both are sent twice", () => receiver.countOf("/slow") === 2 && receiver.countOf("/quick") === 2);
    release();
    await until("both responses", async () => {
      const rows = await sql`select from net._http_response where content = 'done' and status_code = 200`;
      return rows.length >= 2;
    });
    await receiver.stop();
  });

  test("kill -9 of the database → queue and responses are empty, ids restart at 1, secrets stay, and pg_net goes on", async () => {
    const receiver = startReceiver(async (path) => {
      if (path === "/hanging") await new Promise(() => undefined);
      return new Response(null, { status: 204 });
    });
    await sql`select net.http_post(${`${receiver.url}/hanging`})`;
    await receiver.of("/hanging");
    await sql`select net.http_post(${`${receiver.url}/lost`})`;
    server.kill("SIGKILL");
    await server.exited;
    server = await startPostgres({ dataDir: join(folder, "data"), durable: false, port: server.port });
    await until("the worker is back", async () => {
      const workers = () => sql`select from pg_stat_activity where application_name = 'pg_net worker'`;
      return await workers().then(
        ({ count }) => count > 0,
        () => false,
      );
    });
    const [state] = await sql`
      select (select count(*)::int from net.http_request_queue) as queued,
        (select count(*)::int from net._http_response) as responses,
        (select decrypted_secret from vault.decrypted_secrets where name = 'kept') as secret,
        net.http_post(${`${receiver.url}/after`}) as id`;
    expect(state).toEqual({ queued: 0, responses: 0, secret: "kept", id: "1" });
    await receiver.of("/after");
    expect([receiver.countOf("/lost"), receiver.countOf("/hanging")]).toEqual([0, 1]);
  });
});
