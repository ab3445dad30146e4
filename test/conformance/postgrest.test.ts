import { readFileSync } from "node:fs";
import { CompactSign, decodeJwt, importJWK } from "jose";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { forgeToken, tokenPart } from "../support/api/tokens.ts";
import { until } from "../support/until.ts";

// The local Data API against what PostgREST 14.14 answered to the same requests, in support/postgrest-answers.json.

const { url, publishableKey, secretKey, signingKey } = inject("stack");
const sql = openDatabase();
const support = new URL("./support/", import.meta.url);
type Answer = { status: number; headers?: Record<string, string>; text: string };
const answers: Record<string, Answer> = JSON.parse(readFileSync(new URL("postgrest-answers.json", support), "utf8"));

const DROP = `
  drop table if exists public.conformance_rows;
  drop sequence if exists public.conformance_tries;
  do $$ declare each record; begin
    for each in select oid::regprocedure as name from pg_proc where proname like 'conformance\\_%' loop
      execute format('drop function %s', each.name);
    end loop;
  end $$`;
beforeAll(async () => {
  await sql.unsafe(DROP);
  await sql.begin(async (transaction) => {
    await transaction.unsafe("set local role postgres");
    await transaction.unsafe(readFileSync(new URL("postgrest.sql", support), "utf8"));
  });
  await until("the functions are known", async () => (await call("conformance_stable")).status === 200);
});
afterAll(() => sql.unsafe(DROP));

type Asked = { profile?: string; authorization?: string; apikey?: string; body?: string; prefer?: string };

async function ask(method: string, path: string, asked: Asked = {}) {
  const { profile = "public", apikey = secretKey, body, ...others } = asked;
  const headers = {
    ...{ apikey, "accept-profile": profile, "content-profile": profile, ...others },
    ...(body === undefined ? {} : { "content-type": "application/json" }),
  };
  const response = await fetch(`${url}/rest/v1${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
const call = (name: string, args: unknown = {}, asked: Asked = {}) =>
  ask("POST", `/rpc/${name}`, { body: typeof args === "string" ? args : JSON.stringify(args), ...asked });

/** Without white space between the parts of JSON, and with the fields of an error in one order. */
function comparable(status: number, text: string): unknown {
  return status < 400 || text === ""
    ? text.replaceAll(/(?<=["\d\]}el]),\s+|(?<="):\s+/g, (part) => part.trim())
    : JSON.parse(text);
}

function expectAnswer(name: string, { status, headers, text }: Awaited<ReturnType<typeof ask>>): void {
  const expected = answers[name];
  if (expected === undefined) throw new Error(`There is no answer ${name}.`);
  const named = Object.fromEntries(Object.keys(expected.headers ?? {}).map((key) => [key, headers.get(key)]));
  expect([status, comparable(status, text), named]).toEqual([
    expected.status,
    comparable(expected.status, expected.text),
    expected.headers ?? {},
  ]);
}

describe("a token", () => {
  const seconds = (offset: number) => Math.floor(Date.now() / 1000) + offset;
  const user = crypto.randomUUID();
  const claims = (change: Record<string, unknown>) => forgeToken(user, { claims: change });
  const parts = async () => (await forgeToken(user)).split(".");
  test.each<[name: string, token: () => Promise<string> | string]>([
    ["expired token", () => claims({ exp: seconds(-600) })],
    ["expired 10 s ago", () => claims({ exp: seconds(-10) })],
    ["token of the future", () => claims({ iat: seconds(600) })],
    ["nbf future", () => claims({ nbf: seconds(600) })],
    ["bad signature", async () => `${(await forgeToken(user)).slice(0, -6)}AAAAAA`],
    ["no jwt", () => "abc"],
    ["two parts", () => "abc.def"],
    ["alg none", async () => `${tokenPart({ alg: "none", typ: "JWT" })}.${(await parts())[1]}.`],
    ["other kid", () => forgeToken(user, { header: { kid: "other" } })],
    ["no kid", () => forgeToken(user, { header: { kid: undefined } })],
    ["role postgres", () => claims({ role: "postgres" })],
    ["role unknown", () => claims({ role: "nobody" })],
    ["no role", () => claims({ role: undefined })],
    ["no exp", () => claims({ exp: undefined })],
    ["exp text", () => tokenOf({ ...decodeJwt("e30.e30.e30"), role: "authenticated", sub: user, exp: "tomorrow" })],
    ["foreign issuer", () => claims({ iss: "https://other" })],
    ["sub missing", () => claims({ sub: undefined })],
    ["secret key as bearer, publishable as apikey", () => secretKey],
  ])("token: %s", async (name, token) => {
    const authorization = `Bearer ${await token()}`;
    const asked = { profile: "keyframe", apikey: publishableKey, authorization };
    expectAnswer(name, await ask("GET", "/projects?select=id", asked));
  });

  test("basic", async () => {
    const asked = { profile: "keyframe", apikey: publishableKey, authorization: "Basic abc" };
    expectAnswer("basic", await ask("GET", "/projects?select=id", asked));
  });

  // By its source (jose-jwt reads alg, kid, typ and cty of a header); there is no recorded answer.
  test("a token with an unknown critical header → accepted, as if the header were absent", async () => {
    const token = await tokenOf(
      { role: "authenticated", sub: user, exp: seconds(60) },
      { crit: ["x-own"], "x-own": true },
    );
    const asked = { profile: "keyframe", apikey: publishableKey, authorization: `Bearer ${token}` };
    expect(await ask("GET", "/projects?select=id", asked)).toMatchObject({ status: 200, text: "[]" });
  });

  /** Also of claims and headers that the library would refuse to sign. */
  async function tokenOf(payload: object, header: { crit?: string[]; "x-own"?: true } = {}): Promise<string> {
    const signer = new CompactSign(new TextEncoder().encode(JSON.stringify(payload)));
    const own = { alg: "ES256", kid: signingKey.kid ?? "", ...header };
    return await signer.setProtectedHeader(own).sign(await importJWK(signingKey, "ES256"), { crit: { "x-own": true } });
  }
});

describe("an error of Postgres", () => {
  test.each(Object.keys(answers).filter((name) => /^raise \w+$/.test(name)))("error of Postgres: %s", async (name) => {
    const code = name.slice("raise ".length);
    expectAnswer(name, await call("conformance_raise", { code, message: "msg", detail: "det", hint: "hin" }));
  });

  test("raise 42501, as a user and as anon", async () => {
    const authorization = `Bearer ${await forgeToken(crypto.randomUUID())}`;
    const raised = { code: "42501" };
    const apikey = publishableKey;
    expectAnswer("raise 42501 as user", await call("conformance_raise", raised, { apikey, authorization }));
    expectAnswer("raise 42501 as anon", await call("conformance_raise", raised, { apikey }));
  });

  test.each([1, 2, 3, 409])("trigger %i, at an insert", async (n) => {
    expectAnswer(`trigger ${n}`, await ask("POST", "/conformance_rows", { body: JSON.stringify({ n }) }));
  });

  // An order, a limit or a list of columns filters no rows.
  test.each([
    ["PATCH", "", "UPDATE"],
    ["PATCH", "?order=id&limit=1&select=n", "UPDATE"],
    ["DELETE", "", "DELETE"],
  ])("%s of all rows, %j → 400: 21000 is safeupdate's", async (method, query, verb) => {
    const body = method === "PATCH" ? { body: '{"b":1}' } : {};
    const { status, text } = await ask(method, `/conformance_rows${query}`, body);
    const refusal = { code: "21000", message: `${verb} requires a WHERE clause` };
    expect([status, JSON.parse(text)]).toMatchObject([400, refusal]);
  });
});

describe("arguments", () => {
  test.each<[string, unknown]>([
    ["text", { t: "x" }],
    ["textNumber", { t: 5 }],
    ["textBool", { t: true }],
    ["textObject", { t: { a: 1 } }],
    ["textArray", { t: [1, "a"] }],
    ["intText", { i: "5" }],
    ["intFloat", { i: 5 }],
    ["intNull", { i: null }],
    ["numeric", { n: 1.1 }],
    ["boolText", { b: "yes" }],
    ["boolNumber", { b: 1 }],
    ["jsonObject", { j: { a: [1, null, "é"] } }],
    ["jsonText", { j: "abc" }],
    ["jsonTextJson", { j: '{"a":1}' }],
    ["jsonTextNumber", { j: "5" }],
    ["jsonNumber", { j: 5 }],
    ["jsonNull", { j: null }],
    ["jsonBool", { j: true }],
    ["jsonArray", { j: [] }],
    ["jsonTextNull", { j: "null" }],
    ["jsonEmptyText", { j: "" }],
    ["array", { a: ["a", "b,c", 'd"e', "", null] }],
    ["arrayText", { a: "{a,b}" }],
    ["arrayEmpty", { a: [] }],
    ["arrayNumber", { a: [1, 2] }],
    ["arrayNested", { a: [["a"], ["b"]] }],
    ["uuidsBad", { u: ["x"] }],
    ["tsNumber", { ts: 5 }],
    ["big number", '{"n":12345678901234567890.123456789,"j":{"x":12345678901234567890.123456789,"y":1.0,"z":1e2}}'],
  ])("arguments of a call: %s", async (name, args) => {
    expectAnswer(`args ${name}`, await call("conformance_args", args));
  });

  test.each<[string, string, string]>([
    ["broken json", "conformance_stable", "{"],
    ["create project nul", "conformance_args", '{"t":"a\\u0000b"}'],
    ["create project lone surrogate", "conformance_args", '{"t":"a\\ud800b"}'],
    ["create project raw surrogate escape", "conformance_args", '{"\\udfff":"b"}'],
  ])("malformed arguments: %s", async (name, called, body) => {
    expectAnswer(name, await call(called, body));
  });

  test.each(["", "null", "5", "[]"])("a call with the body %j → the function without arguments", async (body) => {
    expectAnswer("stable get", await call("conformance_stable", body));
  });

  test("a call with a list → the arguments of its first object; a pair of surrogates → its character", async () => {
    expect(await call("conformance_out", '[{"x":5}]')).toMatchObject({ status: 200, text: '{"y":5,"z":"a"}' });
    expect((await call("conformance_args", '{"t":"\\ud83d\\ude00"}')).text).toContain('"t": "😀"');
  });

  test.each<[string, string]>([
    ["add credit float", "1.5"],
    ["add credit 1e3", "1e3"],
    ["add credit 1.0", "1.0"],
    ["add credit huge", "1e30"],
  ])("amount in a body: %s", async (name, amount) => {
    const body = `{"user_id":"${crypto.randomUUID()}","amount_micros":${amount},"kind":"purchase","key":"r"}`;
    expectAnswer(name, await call("add_credit", body, { profile: "keyframe_worker" }));
  });
});

describe("a call", () => {
  test.each<[name: string, called: string, args: object]>([
    ["sleep2 1 s", "sleep", {}],
    ["void", "void", {}],
    ["null", "null", {}],
    ["bigint", "bigint", {}],
    ["status 400", "status", { st: "400" }],
    ["status 418", "status", { st: "418" }],
    ["status abc", "status", { st: "abc" }],
    ["headers", "headers", {}],
    ["out", "out", { x: 5 }],
    ["table fn 0", "table", { n: 0 }],
    ["variadic", "variadic", { v: ["a", "b"] }],
    ["overload two", "overload", { a: 1, b: 2 }],
  ])("a function called, case %s → the answer that PostgREST gives", async (name, called, args) => {
    expectAnswer(name, await call(`conformance_${called}`, args));
  });

  test("a call that returns more rows than max_rows → the first thousand", async () => {
    const { headers, text } = await call("conformance_table", { n: 1_500 });
    expect([headers.get("content-range"), JSON.parse(text).length]).toEqual(["0-999/*", 1_000]);
  });

  test("a call with Prefer: tx=rollback → not honoured: the transaction is committed", async () => {
    const asked = { body: '{"n":7}', prefer: "tx=rollback,return=representation" };
    const { status, headers } = await ask("POST", "/conformance_rows?select=n", asked);
    expect([status, headers.get("preference-applied")]).toEqual([201, "return=representation"]);
    expect((await ask("GET", "/conformance_rows?select=n&n=eq.7")).text).toBe('[{"n":7}]');
  });

  // What is inserted into a table goes through JavaScript here.
  test("numbers beyond 2^53, and odd spellings of numbers → returned from a table as Postgres has them", async () => {
    expectAnswer("numbers of a table", await ask("GET", "/conformance_rows?select=n,b,j&order=id&limit=1"));
    await sql`insert into public.conformance_rows (id, b) values (1000, 9007199254740993)`;
    expect((await ask("GET", "/conformance_rows?select=b&id=eq.1000")).text).toBe('[{"b":9007199254740993}]');
  });

  test("two calls that deadlock, and one that conflicts → repeated until they are done", async () => {
    const both = [call("conformance_deadlock", { a: 71, b: 72 }), call("conformance_deadlock", { a: 72, b: 71 })];
    expect((await Promise.all(both)).map(({ status, text }) => [status, text])).toEqual([
      [200, '"ok"'],
      [200, '"ok"'],
    ]);
    const [{ last } = { last: 0 }] = await sql`select last_value::int as last from public.conformance_tries`;
    expect((await call("conformance_conflicts", { times: last + 20 })).text).toBe(String(last + 21));
  });

  test("a setting of a role → applies from `notify pgrst, 'reload config'` on; else the authenticator's does", async () => {
    const settings = async (apikey: string) => JSON.parse((await call("conformance_settings", {}, { apikey })).text);
    expect(await settings(publishableKey)).toMatchObject({ statement_timeout: "3s" });
    const before = await settings(secretKey);
    expect(before).toMatchObject({ statement_timeout: "8s" });
    await sql`alter role service_role set work_mem = '4321kB'`;
    try {
      expect(await settings(secretKey)).toEqual(before);
      await sql`notify pgrst, 'reload config'`;
      await expect.poll(() => settings(secretKey)).toEqual({ ...before, work_mem: "4321kB" });
    } finally {
      await sql`alter role service_role reset work_mem`;
      await sql`notify pgrst, 'reload config'`;
    }
  });
});
