import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { footprint, openDatabase } from "../support/api/database.ts";
import { type Scene, setScene } from "../support/api/requests.ts";
import { signUp, type User } from "../support/api/user.ts";
import { isDenied, rest } from "../support/security/rest.ts";
import { until } from "../support/until.ts";

const sql = openDatabase();
let scene: Scene;
let stranger: User;
let projects: string;
beforeAll(async () => {
  [scene, stranger] = await Promise.all([setScene(sql), signUp()]);
  projects = `/projects?id=eq.${scene.projectId}`;
  // So that it is found in whatever is read of this project.
  await sql`update keyframe.projects set text_prompt = ${`Made by ${scene.user.id}`} where id = ${scene.projectId}`;
});

/** Runs a request that must change nothing, but for the token of a rate limit that a stranger may pay for trying. */
async function expectNoTrace(work: () => Promise<unknown>): Promise<void> {
  const now = async () => ({
    owner: await footprint(sql, scene.user.id),
    stranger: { ...(await footprint(sql, stranger.id)), tokens: undefined },
    project: await sql`select * from keyframe.projects where id = ${scene.projectId}`,
  });
  const before = await now();
  await work();
  expect(await now()).toEqual(before);
}

const SCHEMAS = "keyframe_private auth vault net cron storage extensions pg_catalog information_schema".split(" ");

test.each(SCHEMAS)("the schema %s, in every way to name it, by anybody → 406 or 404", async (schema) => {
  const [{ name } = { name: "projects" }] = await sql<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = to_regnamespace(${schema}) and relkind in ('r', 'v') limit 1`;
  const headers = { "accept-profile": schema, "content-profile": schema };
  for (const caller of ["anon", stranger, "service_role"] as const) {
    for (const [method, json] of [["GET"], ["POST", { id: null }]] as const) {
      const { status, code } = await rest(caller, method, `/${name}`, { headers, json });
      expect([method, status, code]).toEqual([method, 406, "PGRST106"]);
    }
    for (const path of [`${schema}.${name}`, `${schema}%2E${name}`, `"${schema}"."${name}"`, `${schema}/${name}`]) {
      expect([path, (await rest(caller, "GET", `/${path}`)).status]).toEqual([path, 404]);
    }
  }
});

test("the rows of every table, by any query → the owner sees only their own, another user none of them", async () => {
  const { id } = scene.user;
  await until("an attempt of the delivery", async () => {
    return (await sql`select from keyframe.webhook_attempts where owner_id = ${id}`).length > 0;
  });
  const tables = await sql<{ name: string }[]>`
    select c.relname as name from pg_class c join pg_attribute o on o.attrelid = c.oid and o.attname = 'owner_id'
    where c.relnamespace = 'keyframe'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f') order by 1`;
  expect(tables.length).toBeGreaterThan(5);
  for (const { name } of tables) {
    const own = await rest(scene.user, "GET", `/${name}?select=owner_id`);
    const owners = new Set((JSON.parse(own.text) as { owner_id: string }[]).map(({ owner_id }) => owner_id));
    expect([name, ...owners]).toEqual([name, id]);
    for (const query of [
      `owner_id=eq.${id}`,
      `or=(owner_id.eq.${id},owner_id.not.is.null)`,
      `not.and=(owner_id.eq.${stranger.id})`,
      "owner_id=not.is.null&order=owner_id&offset=0&limit=1000",
    ]) {
      const reply = await rest(stranger, "GET", `/${name}?select=*&${query}`);
      expect([name, query, reply.text.includes(id)]).toEqual([name, query, false]);
    }
  }
});

test("supabase/config.toml → exposes our two schemas and public, also without our gateway", () => {
  const config = readFileSync(new URL("../../supabase/config.toml", import.meta.url), "utf8");
  expect(/^schemas = (.*)$/m.exec(config)?.[1]).toBe('["public", "graphql_public", "keyframe", "keyframe_worker"]');
  expect(config).not.toMatch(/^\[db\.pooler\][\s\S]*?enabled = true/m);
  expect(config).toMatch(/^enable_anonymous_sign_ins = false$/m);
});

/** Ways to ask for what is another's: by embedding, by SQL, as another type, with a count or a role. */
const TRICKS: [what: string, path: string, headers?: Record<string, string>][] = [
  ["a child that must be there", "projects?select=id,predictions!inner(*)"],
  ["a parent spread into the row", "predictions?select=id,...projects(title,text_prompt)"],
  ["everything at once", "webhook_events?select=*,webhook_deliveries(*,webhook_attempts(*))"],
  ["the secrets of endpoints", "webhook_endpoints?select=id,webhook_secrets(*)"],
  ["callbacks and runs", "predictions?select=id,provider_submits(*)"],
  ["users of Auth by their key", "projects?select=id,owner_id(email)"],
  ["a schema in the name", "projects?select=id,auth.users(*)"],
  ["a function", "projects?select=id,reveal_webhook_secret"],
  ["a cast that runs code", "projects?select=id::regproc::text,title::pg_catalog.regnamespace"],
  ["a subselect", "projects?select=id,(select 1)"],
  ["SQL in a filter", "projects?id=eq.x' or 1=1 --"],
  ["SQL in an order", "projects?order=title;select pg_sleep(5)"],
  ["SQL in a limit", "projects?limit=1 union select 1"],
  ["filters that are always true", "projects?select=*&or=(owner_id.is.null,owner_id.not.is.null)"],
  ["the plan", "projects?select=*", { accept: "application/vnd.pgrst.plan+json" }],
  ["a table of values", "projects?select=*", { accept: "text/csv" }],
  ["a count", "webhook_attempts?select=*", { prefer: "count=exact" }],
  [
    "a role in a header",
    "projects?select=*",
    { role: "service_role", prefer: "role=service_role", "x-role": "service_role" },
  ],
];

test.each(TRICKS)(
  "%s, requested by another user or without a session → nothing of the owner's data",
  async (_what, path, headers = {}) => {
    for (const caller of [stranger, "anon"] as const) {
      const reply = await rest(caller, "GET", `/${encodeURI(path)}`, { headers });
      expect(reply.status).toBeGreaterThanOrEqual(caller === "anon" ? 400 : 200);
      expect(reply.status).toBeLessThan(500);
      expect(reply.text).not.toMatch(new RegExp(`${scene.user.id}|Harbour|@keyframe|whsec_|encrypted_password`));
      expect(reply.headers.get("content-range") ?? "").not.toMatch(/\/[1-9]/);
    }
  },
);

test("another user's session in a cookie, or claims in a header → ignored", async () => {
  const claims = JSON.stringify({ sub: scene.user.id, role: "service_role" });
  const headers = { "request.jwt.claims": claims, cookie: `sb-access-token=${scene.user.token}` };
  expect((await rest(stranger, "GET", projects, { headers })).text).toBe("[]");
  expect(isDenied(await rest("anon", "GET", projects, { headers }))).toBe(true);
});

const MERGE = "resolution=merge-duplicates";
test.each<[method: string, query: string, prefer: string, owner?: true]>([
  ["POST", "?on_conflict=id", `${MERGE},return=representation`],
  ["POST", "?on_conflict=owner_id", MERGE],
  ["POST", "?on_conflict=id", "resolution=ignore-duplicates,return=representation"],
  ["POST", "?columns=id,title,text_prompt,owner_id", "missing=default"],
  ["POST", "", "return=representation", true],
  ["POST", "?on_conflict=id", `tx=rollback,${MERGE}`],
  ["PATCH", "?id=eq.theirs", "return=representation,tx=commit"],
  ["PUT", "?id=eq.theirs", "handling=strict,max-affected=1"],
  ["DELETE", "?id=eq.theirs", "return=representation"],
])(
  "%s %s of another user's project, prefer %s → the project is unchanged, and nothing of it is shown",
  async (method, query, prefer, owner) => {
    const theirs = { id: scene.projectId, title: "Mine now", text_prompt: "Mine now" };
    const json = method === "DELETE" ? undefined : { ...theirs, ...(owner && { owner_id: scene.user.id }) };
    await expectNoTrace(async () => {
      const path = `/projects${query.replace("theirs", scene.projectId)}`;
      const reply = await rest(stranger, method, path, { json, headers: { prefer } });
      expect(reply.status).toBeLessThan(500);
      expect(reply.text).not.toMatch(new RegExp(`${scene.user.id}|Harbour`));
    });
  },
);

describe("functions by GET and HEAD", () => {
  test("each function that changes something, called by GET or HEAD by its owner → refused, and nothing changed", async () => {
    const functions = await sql<{ schema: string; name: string; names: string[] }[]>`
      select pronamespace::regnamespace::text as schema, proname as name, coalesce(proargnames[1:pronargs], '{}') as names from pg_proc
      where pronamespace in ('keyframe'::regnamespace, 'keyframe_worker'::regnamespace) and provolatile = 'v'
        and proname <> 'health' -- takes a lock, as a write would, and changes nothing
      order by 1`;
    expect(functions.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["create_project", "claim_tasks", "rotate_webhook_secret", "webhook_health"]),
    );
    const known: Record<string, string> = {
      project_id: scene.projectId,
      prediction_id: scene.runningId,
      endpoint_id: scene.webhookId,
      delivery_id: scene.deliveryId,
      title: "By GET",
      text_prompt: "By GET",
      step: "first-frame",
    };
    await expectNoTrace(async () => {
      for (const { schema, name, names } of functions) {
        const headers = { "accept-profile": schema, "content-profile": schema };
        const query = new URLSearchParams(names.flatMap((each) => (known[each] ? [[each, known[each]]] : [])));
        for (const method of ["GET", "HEAD"]) {
          const reply = await rest(scene.user, method, `/rpc/${name}?${query}`, { headers });
          expect([method, name, reply.status >= 400 && reply.status < 500]).toEqual([method, name, true]);
          expect(reply.text).not.toContain("whsec_");
        }
      }
    });
  });

  // Of our own schemas, which may be called: test/db/rights/function-grants.test.ts.
  test("functions of other schemas, by name or with Content-Profile → not found, for anybody", async () => {
    const headers = { "content-profile": "keyframe_private" };
    const names =
      "acquire_token keyframe_private.acquire_token sweep pg_sleep net.http_post set_config pg_read_file lo_import";
    for (const path of [...names.split(" "), "decrypted_secrets"].map((name) => `/rpc/${name}`)) {
      for (const caller of ["anon", scene.user, "service_role"] as const) {
        const here = await rest(caller, "POST", path, { json: {} });
        const elsewhere = await rest(caller, "POST", path, { json: {}, headers });
        expect([path, here.code, elsewhere.code]).toEqual([path, "PGRST202", "PGRST106"]);
      }
    }
  });
});

test("the root of the Data API → lists nothing to any role", async () => {
  for (const caller of ["anon", stranger] as const) {
    const { status, text } = await rest(caller, "GET", "/");
    expect(status).toBeGreaterThanOrEqual(400);
    expect(text).not.toMatch(/definitions|paths/);
  }
});
