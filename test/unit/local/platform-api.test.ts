import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { bootstrapPlatform } from "../../../local/platform/bootstrap-platform.ts";
import { createFunctionsRoute } from "../../../local/platform/functions-route.ts";
import { openPool } from "../../../local/platform/open-pool.ts";
import { DatabaseUnavailable } from "../../../local/platform/platform-connection.ts";
import { startPostgres } from "../../../local/postgres/start-postgres.ts";
import type { StackKeys } from "../../../local/stack/stack-keys.ts";
import { signInDemoUser } from "../../../local/stack/start-stack.ts";
import { until } from "../../support/until.ts";
import { PUBLISHABLE_KEY, SECRET_KEY, startTestPlatform, type TestPlatform } from "./platform-fixture.ts";

let platform: TestPlatform;

beforeAll(async () => {
  platform = await startTestPlatform();
  await platform.migrate.unsafe(MIGRATION).simple();
});
afterAll(() => platform?.stop());

/** Written as for a hosted project, and run as its role postgres. */
const MIGRATION = `
create table public.notes (id int primary key);
revoke all on public.notes from anon, authenticated;
grant select on public.notes to authenticated;

create table public.left_open (id int primary key, name text);

create table public.amounts (price numeric(6, 2), bytes bigint);
insert into public.amounts values (2.50, 9007199254740993);

create function public.describe_caller(amount int) returns jsonb language sql stable as $$
  select jsonb_build_object('amount', amount, 'uid', auth.uid(), 'role', auth.role(), 'session_user_role', current_user)
$$;
create function public.frame_not_ready() returns jsonb language plpgsql as $$
begin
  raise exception using errcode = 'KEYFR', message = 'frame_not_ready', detail = 'the first frame', hint = 'wait';
end $$;
create function public.too_slow() returns void language sql as $$ select pg_sleep(30) $$;
`;

const rest = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
  fetch(`${platform.url}/rest/v1/${path}`, { ...init, headers: { apikey: PUBLISHABLE_KEY, ...headers } });

test("a database that another data folder's stack has used → sign-in of the demo user says which folder or database to name", async () => {
  const keys = (demoPassword: string) => ({ publishableKey: PUBLISHABLE_KEY, demoPassword }) as StackKeys; // all that is read
  await signInDemoUser(platform.url, keys("film-of-the-first"));
  await expect(signInDemoUser(platform.url, keys("film-of-another"))).rejects.toThrow(
    "The database has the demo user of another data folder, whose password is not in this keys.json. Name that folder with --data, or use an empty database.",
  );
});

test("a request with no apikey, or an unknown one → 401", async () => {
  const without = await fetch(`${platform.url}/rest/v1/notes`);
  expect([without.status, (await rest("notes", { apikey: "sb_publishable_other" })).status]).toEqual([401, 401]);
  expect((await fetch(`${platform.url}/auth/v1/settings`)).status).toBe(401);
});

describe("REST", () => {
  test("60 requests of three callers mixed with errors → no caller gets another's role or claims", async () => {
    const [one, two] = await Promise.all([platform.signedIn(), platform.signedIn()]);
    const anon = { client: platform.client(), userId: null };
    const callers = [one, two, anon];
    await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        const caller = callers[n % 3] ?? anon;
        if (n % 4 === 0) await caller.client.rpc("frame_not_ready");
        const { data } = await caller.client.rpc("describe_caller", { amount: n });
        const role = caller.userId === null ? "anon" : "authenticated";
        expect(data).toMatchObject({ amount: n, uid: caller.userId, role, session_user_role: role });
      }),
    );
  });

  test("every connection is busy for as long as a request may wait → 504 PGRST003, as from PostgREST's pool", async () => {
    const busy = await startTestPlatform(100);
    onTestFinished(() => busy.stop());
    await busy.admin`alter role service_role set statement_timeout = '10min'`;
    await busy.migrate.unsafe(`
      create table public.none (id int);
      create function public.held() returns void language sql as 'select pg_advisory_xact_lock(1)'`);
    const holder = await busy.admin.reserve();
    await holder`select pg_advisory_lock(1)`;
    const service = busy.client(SECRET_KEY);
    const held: PromiseLike<unknown>[] = [];
    // One after the other: a connection that is only being made counts as busy, too.
    await until("each connection waits for the lock", async () => {
      held.push(service.rpc("held").then(() => undefined));
      const waiting = await busy.migrate`select from pg_stat_activity where wait_event_type = 'Lock'`;
      return waiting.length === 20;
    });
    for (const refused of [await service.rpc("held"), await service.from("none").select()])
      expect(refused).toMatchObject({ status: 504, error: { code: "PGRST003" } });
    await holder`select pg_advisory_unlock(1)`;
    holder.release();
    await Promise.all(held);
  });

  test("default_transaction_read_only is on → a POST writes, because PostgREST begins it read write; other sessions do not", async () => {
    const { admin } = platform;
    const turn = async (change: string, value: string) => {
      await admin.unsafe(`alter system ${change}`);
      await admin`select pg_reload_conf()`;
      await until("the setting is read", async () => {
        const [row] = await admin`select current_setting('default_transaction_read_only') as value`;
        return row?.value === value;
      });
    };
    await turn("set default_transaction_read_only = on", "on");
    try {
      const { error } = await platform.client(SECRET_KEY).from("left_open").insert({ id: 7 });
      expect(error).toBeNull();
      await expect(admin`insert into public.left_open values (8)`).rejects.toThrow("read-only transaction");
    } finally {
      await turn("reset default_transaction_read_only", "off");
    }
  });

  test("a numeric of scale 2, and a bigint beyond 2^53 → numbers, the second one rounded", async () => {
    const { data } = await platform.client(SECRET_KEY).from("amounts").select();
    expect(data).toEqual([{ price: 2.5, bytes: 2 ** 53 }]);
  });

  test("a column is added or gets another type, or a function returns another → requests soon get the new answer", async () => {
    await platform.migrate`create table public.growing (id int primary key)`;
    await platform.migrate`insert into public.growing values (1)`;
    await platform.migrate`create function public.changing(n int) returns int language sql as 'select n'`;
    const service = platform.client(SECRET_KEY);
    const ask = async () => {
      const rows = await service.from("growing").select("*").eq("id", 1);
      const called = await service.rpc("changing", { n: 7 });
      return [rows.data, called.data];
    };
    await expect.poll(ask).toEqual([[{ id: 1 }], 7]);
    for (let again = 0; again < 30; again++) await ask();
    await platform.migrate`alter table public.growing add column title text default 'new'`;
    await platform.migrate`drop function public.changing(int)`;
    await platform.migrate`create function public.changing(n int) returns jsonb language sql as 'select jsonb_build_object(''n'', n)'`;
    await expect.poll(ask).toEqual([[{ id: 1, title: "new" }], { n: 7 }]);
    await platform.migrate`alter table public.growing alter column id type text`;
    await expect.poll(ask).toEqual([[{ id: "1", title: "new" }], { n: 7 }]);
  });

  test("an exposed schema is dropped → every request is 503 PGRST002, also for public, until it exists again", async () => {
    const ask = async () => {
      const answer = await rest("left_open", { apikey: SECRET_KEY });
      return [answer.status, (await answer.json()).code];
    };
    await platform.migrate`drop schema keyframe_worker`;
    await expect.poll(ask).toEqual([503, "PGRST002"]);
    await platform.migrate`create schema keyframe_worker`;
    await expect.poll(ask).toEqual([200, undefined]);
  });
});

describe("lite's connections", () => {
  const open = (databaseUrl = platform.postgres.url) => {
    const keys = { liteSecret: "unused", publishableKey: PUBLISHABLE_KEY, secretKey: SECRET_KEY };
    const { url, storageFolder } = platform;
    const pool = openPool({ ...keys, databaseUrl, publicUrl: url, storageFolder, sendMail: () => undefined });
    onTestFinished(() => pool.end(0));
    return pool;
  };

  test("one of 20 busy connections is lost → who waits for one is refused, and the lost one is not used again", async () => {
    const { connection, end } = open();
    const { driver } = connection;
    const [lost] = await Promise.all(Array.from({ length: 20 }, () => driver.reserve()));
    const [row] = (await lost?.unsafe("select pg_backend_pid() as pid")) ?? [];
    const refused = expect(driver.reserve()).rejects.toThrow(DatabaseUnavailable);
    const unsent = expect(driver`select 1`).rejects.toThrow("CONNECTION_DESTROYED");
    await platform.admin`select pg_terminate_backend(${row?.pid})`;
    await refused;
    lost?.release(); // sent on a closed connection, the statement that waits would end the process
    await platform.admin`select 1`;
    await end(0);
    await unsent;
  });

  test("two requests need the schema at once → it is read once; it changes meanwhile → it is read again", async () => {
    const { connection } = open();
    const reading = [connection.introspect({ useCache: true }), connection.introspect({ useCache: true })];
    await connection.clearSchemaCache();
    const [one, other] = await Promise.all(reading);
    expect(other).toBe(one);
    expect(await connection.introspect({ useCache: true })).not.toBe(one);
  });

  test("the schema cannot be read → refused, not a schema without tables", async () => {
    const { connection } = open(`${platform.postgres.url}?statement_timeout=5`); // reading the time zones takes longer
    await expect(connection.introspect()).rejects.toThrow("the schema cannot be read");
  });
});

test("a function that does not start → 503 BOOT_ERROR; an unknown one → 404, as hosted", async () => {
  const call = async (name: string) => {
    const answer = await fetch(`${platform.url}/functions/v1/${name}/x`, { method: "POST", body: "x" });
    return [answer.status, (await answer.json()).code];
  };
  expect(await call("away")).toEqual([503, "BOOT_ERROR"]);
  for (const name of ["nobody", "constructor"]) expect(await call(name)).toEqual([404, "NOT_FOUND"]);
});

test("a function that redirects → the client gets the redirect; a client that leaves → the function's answer is canceled", async () => {
  const canceled = Promise.withResolvers<void>();
  const serve = (handler: Deno.ServeHandler) =>
    Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, handler);
  const api = serve(({ url }) => {
    if (url.endsWith("/away")) return new Response(null, { status: 302, headers: { location: "/elsewhere" } });
    const start = (controller: ReadableStreamDefaultController) => controller.enqueue(new Uint8Array(1));
    return new Response(new ReadableStream({ start, cancel: () => canceled.resolve() }));
  });
  const callFunction = createFunctionsRoute({ api: `http://127.0.0.1:${api.addr.port}` }, platform.url);
  const gateway = serve((request) => callFunction(request, new URL(request.url)));
  const base = `http://127.0.0.1:${gateway.addr.port}/functions/v1/api`;
  const redirected = await fetch(`${base}/away`, { redirect: "manual" });
  expect([redirected.status, redirected.headers.get("location")]).toEqual([302, "/elsewhere"]);
  const leave = new AbortController();
  const endless = await fetch(`${base}/endless`, { signal: leave.signal });
  await endless.body?.getReader().read();
  leave.abort();
  await canceled.promise;
  await Promise.all([gateway.shutdown(), api.shutdown()]);
});

test("a function that does not answer → 504 after 150 s, and the request to it is aborted", async () => {
  const [asked, aborted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const api = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, async ({ signal }) => {
    signal.addEventListener("abort", () => aborted.resolve());
    asked.resolve();
    await aborted.promise;
    return new Response();
  });
  const callFunction = createFunctionsRoute({ api: `http://127.0.0.1:${api.addr.port}` }, platform.url);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const address = new URL("/functions/v1/api/slow", platform.url);
    const answer = callFunction(new Request(address), address);
    await asked.promise;
    vi.advanceTimersByTime(150_000);
    expect([(await answer).status, (await (await answer).json()).code]).toEqual([504, "IDLE_TIMEOUT"]);
    await aborted.promise;
  } finally {
    vi.useRealTimers();
  }
  await api.shutdown();
});

describe("the database", () => {
  test("a second bootstrap → no error, grants and users as before, and service_role still bypasses RLS", async () => {
    const { userId } = await platform.signedIn();
    await platform.admin`alter role service_role nobypassrls`; // as on a server that had the role already
    await bootstrapPlatform(platform.admin, { postgresPassword: "migrations" });
    const [notes] = await platform.admin`select has_table_privilege('anon', 'public.notes', 'select') as may`;
    expect(notes?.may).toBe(false);
    const [user] = await platform.admin`select email from auth.users where id = ${userId}`;
    expect(user?.email).toMatch(/@example\.com$/);
    const [service] = await platform.admin`select rolbypassrls from pg_roles where rolname = 'service_role'`;
    expect(service).toEqual({ rolbypassrls: true });
  });

  test.each(["storage.objects", "storage.buckets", "auth.users"])(
    "postgres → manages policies on %s, as hosted, and can do nothing else that only its owner may",
    async (table) => {
      const { migrate } = platform;
      await migrate.unsafe(`create policy "of a test" on ${table} for select using (true)`);
      await migrate.unsafe(`alter policy "of a test" on ${table} using (false)`);
      await migrate.unsafe(`drop policy "of a test" on ${table}`);
      // One that fails leaves no right behind either.
      await expect(migrate.unsafe(`create policy x on ${table} using (nothing)`)).rejects.toMatchObject({
        code: "42703",
      });
      for (const statement of [
        `create index on ${table} (id)`,
        `alter table ${table} disable row level security`,
        `alter table ${table} add column mine text`,
        `drop table ${table}`,
        `create table ${table.split(".")[0]}.mine (id int)`,
        `set role ${table.startsWith("auth") ? "supabase_auth_admin" : "supabase_storage_admin"}`,
      ]) {
        await expect(migrate.unsafe(statement), statement).rejects.toMatchObject({ code: "42501" });
      }
    },
  );

  test("postgres → not a superuser, with the hosted roles; its new objects are open to the API roles until revoked", async () => {
    const [role] = await platform.migrate`
      select rolsuper, rolcreaterole, rolcreatedb, rolbypassrls from pg_roles where rolname = current_user`;
    expect(role).toEqual({ rolsuper: false, rolcreaterole: true, rolcreatedb: true, rolbypassrls: true });
    await platform.migrate`select id, email from auth.users limit 1`;
    await expect(platform.migrate`delete from storage.objects`).rejects.toMatchObject({ code: "42501" });
    const roles = await platform.admin`
      select r.rolname from pg_auth_members m join pg_roles r on r.oid = m.roleid
      where m.member = 'postgres'::regrole order by 1`;
    expect(roles.map(({ rolname }) => rolname)).toEqual([
      ...["anon", "authenticated", "pg_monitor", "pg_read_all_data", "pg_signal_backend", "service_role"],
    ]);
    const [may] = await platform.migrate`
      select has_schema_privilege('storage', 'create') as storage, has_schema_privilege('auth', 'create') as auth,
        has_schema_privilege('extensions', 'create') as extensions, has_schema_privilege('public', 'create') as public,
        has_table_privilege('anon', 'public.left_open', 'insert') as open,
        has_table_privilege('authenticated', 'public.notes', 'update') as revoked`;
    expect(may).toEqual({ storage: false, auth: false, extensions: true, public: true, open: true, revoked: false });
  });
});

test("Postgres killed under 40 requests, away, and back → each is answered, 503 in each service, then as before", async () => {
  const { client } = await platform.signedIn();
  const one = () => platform.client().rpc("describe_caller", { amount: 1 });
  const under = Promise.all(Array.from({ length: 40 }, () => platform.client().rpc("too_slow")));
  await until("several are under way", async () => {
    const active = await platform.admin`
      select from pg_stat_activity where query like '%too_slow%' and state = 'active' and pid <> pg_backend_pid()`;
    return active.length > 5;
  });
  platform.postgres.kill("SIGQUIT");
  await platform.postgres.exited;
  for (const { status } of await under) expect([500, 503]).toContain(status);

  // More than the pool holds: whatever these leave behind must not be missing afterwards.
  const away = await Promise.all(Array.from({ length: 40 }, one));
  expect(new Set(away.map((answer) => answer.status))).toEqual(new Set([503]));
  const headers = { apikey: PUBLISHABLE_KEY };
  for (const path of ["/rest/v1/notes", "/storage/v1/bucket"]) {
    const answer = await fetch(platform.url + path, { headers });
    expect([path, answer.status]).toEqual([path, 503]);
    expect(answer.headers.get("content-type")).toContain("json");
  }
  const upload = await client.storage.from("any").upload("x.txt", new Blob(["x"]));
  expect(upload.error).toMatchObject({ status: 503 });
  const body = JSON.stringify({ email: "a@example.com", password: "x" });
  const signIn = await fetch(`${platform.url}/auth/v1/token?grant_type=password`, { method: "POST", headers, body });
  expect(signIn.status).toBe(503);

  const { port, dataDir } = platform.postgres;
  platform.postgres = await startPostgres({ port, dataDir, durable: false });
  const back = await Promise.all(Array.from({ length: 40 }, one));
  expect(new Set(back.map((answer) => answer.data?.amount))).toEqual(new Set([1]));
  expect((await client.auth.getUser()).error).toBeNull();
});
