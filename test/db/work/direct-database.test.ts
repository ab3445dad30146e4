import { afterAll, beforeAll, expect, test } from "vitest";
import { DatabaseError, retryTransientErrors } from "../../../shared/platform/call-database.ts";
import { describeError } from "../../../shared/platform/log.ts";
import { createDirectDatabase, readUrl } from "../../../worker/direct-database.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { claim } from "../../support/database/calls.ts";
import { seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { untilACallWaits } from "../../support/database/waiting.ts";
import { forward } from "../../support/forward.ts";
import { until } from "../../support/until.ts";

const db = useDatabase();
const world = useWorld(db);
const worker = crypto.randomUUID();
const LOGIN = `test_login_${crypto.randomUUID().slice(0, 8)}`;
const PASSWORD = "geheim";
const LIMITS = { connections: 2, statementMs: 2_000, timeoutMs: 5_000 };
const opened: (() => Promise<void>)[] = [];

function open(change: Partial<typeof LIMITS> = {}, url = db.url) {
  const { call, end } = createDirectDatabase({ url: new URL(url), ...LIMITS, ...change });
  opened.push(end);
  return call;
}

/** As docs/workers.md makes it: a login that can act as service_role, and has no right of its own. */
function loginUrl(): string {
  const url = new URL(db.url);
  Object.assign(url, { username: LOGIN, password: PASSWORD });
  return url.href;
}

beforeAll(async () => {
  await db.sql.unsafe(`
    create role ${LOGIN} login noinherit password '${PASSWORD}';
    grant service_role to ${LOGIN};
    create function keyframe_worker.probe(a text default null, b jsonb default null, c integer default null, sleep_seconds float8 default 0)
    returns jsonb language plpgsql as $$
    begin
      perform pg_sleep(sleep_seconds);
      return jsonb_build_object('prepared', (select count(*) from pg_prepared_statements), 'a', a, 'b', b, 'c', c, 'role', current_user, 'limit', current_setting('statement_timeout'));
    end $$;
    create function keyframe_worker.probe_fails(code text) returns jsonb language plpgsql as $$
    begin
      raise exception using errcode = code, message = 'a row with a secret';
    end $$;
    create function keyframe_worker.probe_locks() returns boolean language plpgsql set lock_timeout = '50ms' as $$
    begin
      perform pg_advisory_xact_lock(4711);
      return true;
    end $$;
    create function keyframe_worker.probe_calls_nothing() returns jsonb language plpgsql as $$
    begin
      return keyframe_worker.nothing();
    end $$;
    grant execute on all functions in schema keyframe_worker to service_role`);
});
afterAll(async () => {
  await Promise.all(opened.map((end) => end()));
  await db.sql.unsafe(`drop role ${LOGIN}`);
});

const refusal = (work: Promise<unknown>) =>
  work.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );
const OURS = "application_name = 'keyframe-worker' and datname = current_database()";
/** Sessions of these calls. */
const sessions = (where: string) =>
  db.sql.unsafe(`select query, state from pg_stat_activity where ${OURS} and ${where}`);
const nextCallIsAnswered = (call: ReturnType<typeof open>) =>
  until("the next call is answered", () => call("probe", {}).then(Boolean, () => false));

test("a call by a login without rights of its own → runs as service_role, with the Data API's time limit, arguments by name", async () => {
  const given = { a: `"'\\ $1 ünïcode`, b: { list: [1, null], text: "'" }, c: 7 };
  expect(await open({}, loginUrl())("probe", { ...given, d: undefined })).toEqual({
    ...given,
    ...{ role: "service_role", limit: "2s", prepared: 0 },
  });
  expect(await open()("probe", { a: "", b: null })).toMatchObject({ a: "", b: null, c: null });
});

test("every function of the workers → returns one value, as a direct call expects it", async () => {
  const rows = await db.sql`select from pg_proc where pronamespace = 'keyframe_worker'::regnamespace and proretset`;
  expect(rows).toHaveLength(0);
});

test("a direct call → leaves nothing on its connection, as a pooler of transactions needs it", async () => {
  const call = open({ connections: 1 });
  await call("probe", {});
  expect((await sessions("query = 'commit'"))[0]).toMatchObject({ state: "idle" });
  expect(await call("probe", {})).toMatchObject({ prepared: 0 });
});

test("a direct call that raises → gives its SQLSTATE and not its message; the connection serves the next call", async () => {
  const call = open({ connections: 1 });
  const error = await refusal(call("probe_fails", { code: "55P03" }));
  expect(error).toBeInstanceOf(DatabaseError);
  expect(error).toMatchObject({ code: "55P03", status: null, message: "probe_fails failed, code 55P03" });
  expect(await call("probe", { c: 1 })).toMatchObject({ c: 1 });
});

test("a direct call meets another transaction's lock → 55P03, and it is repeated until the lock is free", async () => {
  const waits: number[] = [];
  const { promise: conflict, resolve: hasConflict } = Promise.withResolvers<void>();
  const { promise: freed, resolve: free } = Promise.withResolvers<void>();
  const call = retryTransientErrors(open(), 1, async (ms) => {
    waits.push(ms);
    hasConflict();
    await freed;
  })(new AbortController().signal);
  const waiting = db.sql.begin(async (sql) => {
    await sql`select pg_advisory_xact_lock(4711)`;
    const answer = call("probe_locks", {});
    await conflict;
    return { answer };
  });
  const { answer } = await waiting;
  free();
  expect(await answer).toBe(true);
  expect(waits).toEqual([250]);
});

test("a direct call of a missing function → schema_outdated; of a function that calls a missing one → an error of its own", async () => {
  expect(await refusal(open()("no_such_call", { a: 1 }))).toMatchObject({
    code: "42883",
    message: expect.stringMatching(/^schema_outdated: no_such_call is missing .*older.*migrations.*newer.*deployed/),
  });
  expect(await refusal(open()("probe_calls_nothing", {}))).toMatchObject({ code: "XX000" });
});

test.each([
  ["0.9.0", null],
  ["0.8.0", null],
  ["0.1.0", "process"],
  ["0.10.0", "database"],
])(
  "a process of version %s at a database of 0.9.0 → outdated: %s; 0.9.0 and the version before are served",
  async (process_version, outdated) => {
    await db.sql`insert into keyframe_private.installation (version) values ('0.9.0'), ('0.8.0') on conflict do nothing`;
    expect(await open()("describe_database", { process_version })).toMatchObject({ version: "0.9.0", outdated });
  },
);

test("a direct call over Postgres's time limit → 57014; over the client's → no answer, and a new connection for the next call", async () => {
  expect(await refusal(open({ statementMs: 50 })("probe", { sleep_seconds: 5 }))).toMatchObject({ code: "57014" });
  const call = open({ connections: 1, timeoutMs: 300 });
  expect(await refusal(call("probe", { sleep_seconds: 1 }))).toMatchObject({ code: "" });
  await nextCallIsAnswered(call);
});

test("Postgres ends connections, idle or in a call → no answer once; the next call opens another connection", async () => {
  const call = open({ connections: 1 });
  const endAll = () => db.sql.unsafe(`select pg_terminate_backend(pid) from pg_stat_activity where ${OURS}`);
  const sleeping = async () => (await sessions("wait_event = 'PgSleep'")).length > 0;
  await until("no call of the test before runs", async () => !(await sleeping()));
  await call("probe", {});
  const waiting = refusal(call("probe", { sleep_seconds: 5 }));
  await until("the call runs", sleeping);
  await endAll();
  expect(await waiting).toBeInstanceOf(DatabaseError);
  await call("probe", {});
  await endAll();
  await nextCallIsAnswered(call);
});

test("a pooler closes an idle connection as the next call is sent → the call is answered on another connection", async () => {
  using pooler = forward(db.url);
  const call = open({ connections: 1 }, pooler.url);
  await call("probe", {});
  pooler.cut("at the next call");
  expect(await call("probe", { c: 2 })).toMatchObject({ c: 2 });
});

test("the database answers nothing at the begin of a call → the driver's timeout, which is not tried again", async () => {
  using network = forward(db.url);
  const call = open({ connections: 1, timeoutMs: 300 }, network.url);
  await call("probe", {});
  network.stall();
  expect(describeError(await refusal(call("probe", {})))).toContain("because of Query read timeout");
});

test("a process is killed while its claim waits → the claim is not committed, and work that becomes due is free", async () => {
  using network = forward(db.url);
  const call = open({}, network.url);
  const claiming = refusal(call("claim_tasks", { worker_id: worker, max_rows: 1, wait_ms: 1_000 }));
  await untilACallWaits(db.sql);
  network.cut("now");
  await claiming;
  const { id } = await seedPrediction(db.sql, world, { columns: { attempt: 0, lease_token: null } });
  const claims = () => sessions("query ~ 'claim_tasks' and state <> 'idle'");
  await until("its claim has ended", async () => (await claims()).length === 0);
  expect(await claim(db.sql)).toMatchObject([{ id, attempt: 1 }]);
});

test("a worker's machine disappears before its claim is committed → the claimed work is free after one statement's time limit", async () => {
  using network = forward(db.url);
  const call = open({ statementMs: 1_000 }, network.url);
  const claiming = refusal(call("claim_tasks", { worker_id: worker, max_rows: 10, wait_ms: 700 }));
  await untilACallWaits(db.sql);
  network.stall();
  const { id } = await seedPrediction(db.sql, world, { columns: { attempt: 0, lease_token: null } });
  const waits = () => sessions("state = 'idle in transaction'");
  await until("its claim has taken the task", async () => (await waits()).length > 0);
  await until("another worker takes it", async () => (await claim(db.sql)).some((task) => task.id === id));
  await claiming;
});

test("a wrong password, no server, or no TLS → the error has the reason, and never the password", async () => {
  const change = (parts: Partial<URL>) => Object.assign(new URL(loginUrl()), parts).href;
  for (const [url, reason] of [
    [change({ password: `${PASSWORD}wrong` }), "code 28P01"],
    [change({ port: "9" }), "ECONNREFUSED"],
    [change({ search: "?sslmode=require" }), "The server does not support SSL connections"],
  ] as const) {
    const line = describeError(await refusal(open({}, url)("probe", {})));
    expect(line).toContain(reason);
    expect(line).not.toContain(PASSWORD);
  }
});

test("PgBouncer refuses a connection with 08P01 → the error has PgBouncer's reason", async () => {
  using pooler = refuseAll("08P01", "SASL authentication failed");
  expect(describeError(await refusal(open({}, pooler.url)("probe", {})))).toBe(
    "DatabaseError: probe failed, code 08P01, because of SASL authentication failed",
  );
  const raised = describeError(await refusal(open()("probe_fails", { code: "08P01" })));
  expect(raised).toBe("DatabaseError: probe_fails failed, code 08P01");
});

/** Answers each connection as a server that refuses it. */
function refuseAll(code: string, reason: string): Disposable & { url: string } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const fields = new TextEncoder().encode(["SFATAL", `C${code}`, `M${reason}`, "", ""].join("\0"));
  const answer = new Uint8Array([...new TextEncoder().encode("E"), 0, 0, 0, 4 + fields.length, ...fields]);
  void (async () => {
    for await (const connection of listener) {
      await connection.read(new Uint8Array(1_000));
      await connection.write(answer);
      connection.close();
    }
  })();
  return {
    url: `postgres://login:geheim@127.0.0.1:${listener.addr.port}/postgres`,
    [Symbol.dispose]: () => listener.close(),
  };
}

test.each([
  ["postgres://a:b@db.example", { rejectUnauthorized: false }],
  ["postgres://a:b@db.example?sslmode=verify-full", { rejectUnauthorized: true }],
  ["postgres://a:b@db?sslmode=disable", false],
  ["postgres://a:b@127.0.0.1", false],
  ["postgres://a:b@[::1]:6543/film", false],
])("the database URL %s → TLS: %j", (url, ssl) => {
  expect(readUrl(new URL(url)).ssl).toEqual(ssl);
});
