import { readFileSync } from "node:fs";
import { CompactSign, importJWK } from "jose";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { forgeToken, tokenPart } from "../support/api/tokens.ts";
import { until } from "../support/until.ts";

// The local Data API against what PostgREST 14.14 answered to the same requests.

const { url, publishableKey, secretKey, signingKey } = inject("stack");
const sql = openDatabase();
const MADE = readFileSync(new URL("./support/postgrest.sql", import.meta.url), "utf8");

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
    await transaction.unsafe(MADE);
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

/** What a refusal says. */
const problem = (code: string, message: string, details: string | null = null, hint: string | null = null) => ({
  ...{ code, details, hint, message },
});

type Asking = ReturnType<typeof ask>;

/** The text is compared without the white space of Postgres's JSON; of the headers, the range of rows. */
async function expectRows(asking: Asking, text: string, range = "0-0/*", status = 200): Promise<void> {
  const answer = await asking;
  const said = answer.text.replaceAll(/(?<=["\d\]}el]),\s+|(?<="):\s+/g, (part) => part.trim());
  expect([answer.status, said, answer.headers.get("content-range")]).toEqual([status, text, range]);
}

async function expectProblem(asking: Asking, status: number, said: ReturnType<typeof problem>): Promise<void> {
  const answer = await asking;
  expect([answer.status, JSON.parse(answer.text)]).toEqual([status, said]);
  const { code, message } = said;
  const because = `Bearer error="invalid_token", error_description=${JSON.stringify(message)}`;
  const challenge = status === 401 ? (code.startsWith("PGRST30") ? because : "Bearer") : null;
  const headers = { "www-authenticate": challenge, "retry-after": status === 503 ? "0" : null };
  expect(Object.fromEntries(Object.keys(headers).map((name) => [name, answer.headers.get(name)]))).toEqual(headers);
}

describe("a token", () => {
  const seconds = (offset: number) => Math.floor(Date.now() / 1000) + offset;
  const user = crypto.randomUUID();
  const claims = (change: Record<string, unknown>) => forgeToken(user, { claims: change });
  const parts = async () => (await forgeToken(user)).split(".");
  const read = (authorization: string) =>
    ask("GET", "/projects?select=id", { profile: "keyframe", apikey: publishableKey, authorization });
  const denied = problem("42501", "permission denied for table projects");
  const noKey = (why: string) => problem("PGRST301", "No suitable key or wrong key type", why);
  const parts3 = (got: number) => problem("PGRST301", `Expected 3 parts in JWT; got ${got}`);
  const wrongTime = (message: string) => problem("PGRST303", message);

  test.each<[what: string, token: () => Promise<string>]>([
    ["that expired 10 s ago", () => claims({ exp: seconds(-10) })],
    ["without kid", () => forgeToken(user, { header: { kid: undefined } })],
    ["without exp", () => claims({ exp: undefined })],
    ["of another issuer", () => claims({ iss: "https://other" })],
    ["without sub", () => claims({ sub: undefined })],
  ])("a token %s → accepted by the Data API", async (_what, token) => {
    await expectRows(read(`Bearer ${await token()}`), "[]", "*/*");
  });

  test.each<[what: string, token: () => Promise<string>, status: number, said: ReturnType<typeof problem>]>([
    ["that expired", () => claims({ exp: seconds(-600) }), 401, wrongTime("JWT expired")],
    ["of the future", () => claims({ iat: seconds(600) }), 401, wrongTime("JWT issued at future")],
    ["that is not valid yet", () => claims({ nbf: seconds(600) }), 401, wrongTime("JWT not yet valid")],
    [
      "whose exp is a text",
      () => tokenOf({ role: "authenticated", sub: user, exp: "tomorrow" }),
      401,
      wrongTime("The JWT 'exp' claim must be a number"),
    ],
    [
      "with another signature",
      async () => `${(await forgeToken(user)).slice(0, -6)}AAAAAA`,
      401,
      noKey("None of the keys was able to decode the JWT"),
    ],
    [
      "of another key",
      () => forgeToken(user, { header: { kid: "other" } }),
      401,
      noKey("No suitable key was found to decode the JWT"),
    ],
    ["that is none", async () => "abc", 401, parts3(1)],
    ["of two parts", async () => "abc.def", 401, parts3(2)],
    ["that is the secret key, beside the publishable one", async () => secretKey, 401, parts3(1)],
    [
      "that is not signed",
      async () => `${tokenPart({ alg: "none", typ: "JWT" })}.${(await parts())[1]}.`,
      401,
      problem(
        "PGRST301",
        "Wrong or unsupported encoding algorithm",
        "JWT is unsecured but expected 'alg' was not 'none'",
      ),
    ],
    [
      "of the role postgres",
      () => claims({ role: "postgres" }),
      403,
      problem("42501", 'permission denied to set role "postgres"'),
    ],
    ["of an unknown role", () => claims({ role: "nobody" }), 401, problem("22023", 'role "nobody" does not exist')],
    ["without a role", () => claims({ role: undefined }), 401, denied],
  ])("a token %s → refused by the Data API with its code", async (_what, token, status, said) => {
    await expectProblem(read(`Bearer ${await token()}`), status, said);
  });

  test("basic authorization → ignored: the caller is anon", async () => {
    await expectProblem(read("Basic abc"), 401, denied);
  });

  // By its source (jose-jwt reads alg, kid, typ and cty of a header); there is no recorded answer.
  test("a token with an unknown critical header → accepted, as if the header were absent", async () => {
    const token = await tokenOf(
      { role: "authenticated", sub: user, exp: seconds(60) },
      { crit: ["x-own"], "x-own": true },
    );
    expect(await read(`Bearer ${token}`)).toMatchObject({ status: 200, text: "[]" });
  });

  /** Also of claims and headers that the library would refuse to sign. */
  async function tokenOf(payload: object, header: { crit?: string[]; "x-own"?: true } = {}): Promise<string> {
    const signer = new CompactSign(new TextEncoder().encode(JSON.stringify(payload)));
    const own = { alg: "ES256", kid: signingKey.kid ?? "", ...header };
    return await signer.setProtectedHeader(own).sign(await importJWK(signingKey, "ES256"), { crit: { "x-own": true } });
  }
});

describe("an error of Postgres", () => {
  test.each([
    [400, ["KEYFR", "P0001", "22023", "23514", "0A000", "2F000", "ZZ999"]],
    [402, ["PT402"]],
    [403, ["42501"]],
    [404, ["42883"]],
    [405, ["25006"]],
    [409, ["23505", "23503", "PT409"]],
    [500, ["P0002", "57014", "55P03", "53400", "XX000", "21000"]],
    [503, ["57P01", "53300", "08006"]],
  ])("a status of %i → for the errors of Postgres %j", async (status, codes) => {
    for (const code of codes) {
      const raised = { code, message: "msg", detail: "det", hint: "hin" };
      await expectProblem(call("conformance_raise", raised), status, problem(code, "msg", "det", "hin"));
    }
  });

  test.each(["40001X", "PT4xx"])("an error code that Postgres does not take, %s → 400", async (code) => {
    const said = problem("42704", `unrecognized exception condition "${code}"`);
    await expectProblem(call("conformance_raise", { code }), 400, said);
  });

  test("raise 42501 → 403 for a user, 401 for anon", async () => {
    const authorization = `Bearer ${await forgeToken(crypto.randomUUID())}`;
    const raise = (who: Asked) => call("conformance_raise", { code: "42501" }, { apikey: publishableKey, ...who });
    await expectProblem(raise({ authorization }), 403, problem("42501", "m", "", ""));
    await expectProblem(raise({}), 401, problem("42501", "m", "", ""));
  });

  test.each([
    [1, 400, problem("P0001", "plain")],
    [3, 400, problem("KEYFR", "x", "sentence", '{"a":1}')],
    [409, 409, problem("PT409", "no", "d", "h")],
  ])("an insert whose trigger raises error %i → %i", async (n, status, said) => {
    await expectProblem(ask("POST", "/conformance_rows", { body: JSON.stringify({ n }) }), status, said);
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
  test.each<[args: unknown, read: string]>([
    [{ t: "x" }, '{"t":"x"}'],
    [{ t: 5 }, '{"t":"5"}'],
    [{ t: true }, '{"t":"true"}'],
    [{ t: { a: 1 } }, '{"t":"{\\"a\\":1}"}'],
    [{ t: [1, "a"] }, '{"t":"[1,\\"a\\"]"}'],
    [{ i: "5" }, '{"i":5}'],
    [{ i: 5 }, '{"i":5}'],
    [{ i: null }, "{}"],
    [{ n: 1.1 }, '{"n":1.1}'],
    [{ b: "yes" }, '{"b":true}'],
    [{ b: 1 }, '{"b":true}'],
    [{ j: { a: [1, null, "é"] } }, '{"j":{"a":[1,null,"é"]},"jt":"object"}'],
    [{ j: "abc" }, '{"j":"abc","jt":"string"}'],
    [{ j: '{"a":1}' }, '{"j":"{\\"a\\":1}","jt":"string"}'],
    [{ j: "5" }, '{"j":"5","jt":"string"}'],
    [{ j: 5 }, '{"j":5,"jt":"number"}'],
    [{ j: null }, "{}"],
    [{ j: true }, '{"j":true,"jt":"boolean"}'],
    [{ j: [] }, '{"j":[],"jt":"array"}'],
    [{ j: "null" }, '{"j":"null","jt":"string"}'],
    [{ j: "" }, '{"j":"","jt":"string"}'],
    [{ a: ["a", "b,c", 'd"e', "", null] }, '{"a":["a","b,c","d\\"e","",null]}'],
    [{ a: "{a,b}" }, '{"a":["a","b"]}'],
    [{ a: [] }, '{"a":[]}'],
    [{ a: [1, 2] }, '{"a":["1","2"]}'],
    [{ a: [["a"], ["b"]] }, '{"a":[["a"],["b"]]}'],
    [
      '{"n":12345678901234567890.123456789,"j":{"x":12345678901234567890.123456789,"y":1.0,"z":1e2}}',
      '{"j":{"x":12345678901234567890.123456789,"y":1.0,"z":100},"n":12345678901234567890.123456789,"jt":"object"}',
    ],
    ['{"t":"\\ud83d\\ude00"}', '{"t":"😀"}'],
  ])("the arguments %j of a call → %s", async (args, read) => {
    await expectRows(call("conformance_args", args), read);
  });

  const notJson = problem("PGRST102", "Empty or invalid json");
  const notNumber = (text: string) => problem("22P02", `invalid input syntax for type bigint: "${text}"`);
  test.each<[args: unknown, said: ReturnType<typeof problem>]>([
    [{ u: ["x"] }, problem("22P02", 'invalid input syntax for type uuid: "x"')],
    [{ ts: 5 }, problem("22007", 'invalid input syntax for type timestamp with time zone: "5"')],
    ["{", notJson],
    [
      '{"t":"a\\u0000b"}',
      problem("22P05", "unsupported Unicode escape sequence", "\\u0000 cannot be converted to text."),
    ],
    ['{"t":"a\\ud800b"}', notJson],
    ['{"\\udfff":"b"}', notJson],
    ...["1.5", "1e3", "1.0", "1e30"].map((text): [string, typeof notJson] => [`{"big":${text}}`, notNumber(text)]),
  ])("the arguments %j of a call → 400", async (args, said) => {
    await expectProblem(call("conformance_args", args), 400, said);
  });

  test.each(["", "null", "5", "[]"])("a call with the body %j → the function without arguments", async (body) => {
    await expectRows(call("conformance_stable", body), '"x"');
  });

  test("a call with a list → the arguments of its first object", async () => {
    await expectRows(call("conformance_out", '[{"x":5}]'), '{"y":5,"z":"a"}');
  });
});

describe("a call", () => {
  test.each<[called: string, args: object, text: string, range?: string, status?: number]>([
    ["void", {}, "", "0-0/*", 204],
    ["null", {}, "null"],
    ["bigint", {}, "9007199254740993"],
    ["status", { st: "400" }, '{"a":1}', "0-0/*", 400],
    ["status", { st: "418" }, '{"a":1}', "0-0/*", 418],
    ["out", { x: 5 }, '{"y":5,"z":"a"}'],
    ["table", { n: 0 }, "[]", "*/*"],
    ["variadic", { v: ["a", "b"] }, '"a,b"'],
    ["overload", { a: 1, b: 2 }, '"two"'],
  ])("the function %s called with %j → the answer that PostgREST gives", async (called, args, ...answer) => {
    await expectRows(call(`conformance_${called}`, args), ...answer);
  });

  test("a call beyond its function's own statement_timeout, or with a status that is none → 500", async () => {
    const late = problem("57014", "canceling statement due to statement timeout");
    await expectProblem(call("conformance_sleep"), 500, late);
    const wrong = problem("PGRST112", "response.status guc must be a valid status code");
    await expectProblem(call("conformance_status", { st: "abc" }), 500, wrong);
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
