import type postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seedPrediction } from "../support/database/predictions.ts";
import { type FilmMaker, newFilmMaker } from "../support/film/film-maker.ts";
import { untilNobodyLooks } from "../support/stack/restarts.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { rawExchange } from "../support/security/raw.ts";
import { FORGERIES, signed } from "../support/security/signatures.ts";
import { until } from "../support/until.ts";

// Its own stack without its scheduler, so that nothing at all changes in the database but by the requests of this file.
let stack: OwnStack;
let maker: FilmMaker;
/** The query that names the prediction that a callback is about. */
let own: string;
let run: string;
/** A prediction and a delivery that are due: a kick that counted would have them claimed at once. */
let due: { prediction: string; delivery: string };
beforeAll(async () => {
  stack = await startOwnStack();
  maker = await newFilmMaker(stack);
  await stack.child("scheduler").stop();
  await untilNobodyLooks(stack.sql);
  const world = { owner: maker.userId, project: maker.projectId };
  run = `run-${crypto.randomUUID()}`;
  const columns = { provider_prediction_id: run, due_at: new Date(Date.now() + 3_600_000), lease_token: null };
  const { id } = await seedPrediction(stack.sql, world, { status: "processing", columns });
  own = `prediction=${id}&attempt=1`;
  due = await makeDueWork(stack.sql, world);
});
afterAll(() => stack.stop());

async function makeDueWork(sql: postgres.Sql, { owner, project }: { owner: string; project: string }) {
  const [endpoint] = await sql<{ id: string }[]>`
    insert into keyframe.webhook_endpoints (owner_id, url) values (${owner}, 'http://127.0.0.1:65535/hooks') returning id`;
  const [prediction] = await sql<{ id: string }[]>`
    insert into keyframe.predictions (owner_id, project_id, step) values (${owner}, ${project}, 'first-frame') returning id`;
  await sql`insert into keyframe.projects (owner_id, title, text_prompt) values (${owner}, 'Harbour', 'Dawn')`;
  const [delivery] = await sql<{ id: string }[]>`
    select id from keyframe.webhook_deliveries where endpoint_id = ${endpoint?.id ?? ""} and status = 'pending' limit 1`;
  if (!prediction || !delivery) throw new Error("There is no work that is due.");
  return { prediction: prediction.id, delivery: delivery.id };
}

/** Every row of every table of ours, of Storage and of pg_net, as one text. */
async function wholeDatabase(): Promise<string> {
  const tables = await stack.sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname in ('keyframe', 'keyframe_worker', 'keyframe_private', 'storage', 'net') order by 1`;
  const rows = tables.map(({ name }) => `select '${name}' as name, to_jsonb(t)::text as row from ${name} t`);
  const all = await stack.sql.unsafe(`select name, row from (${rows.join(" union all ")}) as r order by 1, 2`);
  return JSON.stringify(all);
}

const address = (path: string) => `${stack.url}/functions/v1/${path}`;
const genuine = (secret: string, body: string) => ({
  secret,
  body,
  id: `msg_${crypto.randomUUID()}`,
  seconds: Math.floor(Date.now() / 1000),
});
const failure = () => JSON.stringify({ id: run, status: "failed", error: "forged", logs: "", output: null });

const TARGETS = {
  "keyframe-replicate-webhook": () => ({
    url: address(`keyframe-replicate-webhook?${own}`),
    ...genuine(stack.replicateWebhookSecret, failure()),
  }),
  generate: () => ({ url: address("keyframe-generate"), ...genuine(stack.kickSecret, "{}") }),
  deliver: () => ({ url: address("keyframe-deliver"), ...genuine(stack.kickSecret, "{}") }),
};

const codeOf = (body: string) => (JSON.parse(body || "{}") as { error?: { code: string } | null }).error?.code ?? null;

describe.each(Object.entries(TARGETS))("signed requests to %s", (_target, target) => {
  let before: string;
  beforeAll(async () => {
    before = await wholeDatabase();
  });

  test.each(Object.entries(FORGERIES))("a forged signature, %s → 401 unauthorized", async (_name, forge) => {
    const { url, ...sender } = target();
    const { lines: given, body = sender.body } = forge(sender);
    const answer = await rawExchange(url, "POST", given, body);
    expect([answer.status, codeOf(answer.body)]).toEqual([401, "unauthorized"]);
  });

  test("all these forgeries → no row of the database has changed", async () => {
    expect(await wholeDatabase()).toBe(before);
  });

  test("a session, the secret key, or Basic in place of a signature → 401", async () => {
    const { url, body } = target();
    const { secretKey, kickSecret, publishableKey } = stack;
    for (const given of [
      [`authorization: Bearer ${maker.accessToken}`],
      [`authorization: Bearer ${secretKey}`, `apikey: ${secretKey}`],
      [`authorization: Bearer ${kickSecret}`],
      [`authorization: Basic ${btoa(`service_role:${secretKey}`)}`],
      [`apikey: ${publishableKey}`, "x-forwarded-for: 127.0.0.1", "x-real-ip: 10.0.0.1"],
      ["user-agent: pg_net/0.20.0", "x-supabase-webhook-source: database"],
    ]) {
      const answer = await rawExchange(url, "POST", given, body);
      expect([given, answer.status]).toEqual([given, 401]);
    }
    expect(await wholeDatabase()).toBe(before);
  });

  test("a valid signature with another method → 405, another path → 404, a larger body → 413", async () => {
    const { url, ...sender } = target();
    const { body } = sender;
    const given = signed(sender);
    for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const sent = ["GET", "HEAD"].includes(method) ? "" : body;
      const { status } = await rawExchange(url, method, [...given, "x-http-method-override: POST"], sent);
      expect([method, status]).toEqual([method, 405]);
    }
    for (const change of ["/run", "%2f", "/../api", ".json", ";a=b"]) {
      const { status } = await rawExchange(url.replace(/(?=\?|$)/, change), "POST", given, body);
      expect([change, status]).toEqual([change, 404]);
    }
    const large = await rawExchange(url, "POST", given, "x".repeat(1024 * 1024 + 1));
    expect([large.status, codeOf(large.body)]).toEqual([413, "payload_too_large"]);
    const lie = await rawExchange(url, "POST", [...given, "Content-Length: 10000000000"], "{}");
    expect([lie.status, codeOf(lie.body)]).toEqual([413, "payload_too_large"]);
    expect(await wholeDatabase()).toBe(before);
  });
});

test("a callback signed with the secret of kicks, and a kick signed with that of callbacks → 401", async () => {
  const before = await wholeDatabase();
  for (const { url, ...sender } of [
    { ...TARGETS["keyframe-replicate-webhook"](), secret: stack.kickSecret },
    { ...TARGETS.generate(), secret: stack.replicateWebhookSecret },
    { ...TARGETS.deliver(), secret: stack.replicateWebhookSecret },
  ]) {
    expect((await rawExchange(url, "POST", signed(sender), sender.body)).status).toBe(401);
  }
  expect(await wholeDatabase()).toBe(before);
});

describe("a callback that was captured", () => {
  const capture = (body: string) => {
    const given = signed(genuine(stack.replicateWebhookSecret, body));
    return (query: string) => rawExchange(address(`keyframe-replicate-webhook?${query}`), "POST", given, body);
  };

  test("a captured callback sent for another owner's prediction, named in every way → refused or settled, nothing changes", async () => {
    const other = await newFilmMaker(stack);
    const world = { owner: other.userId, project: other.projectId };
    const columns = { due_at: new Date(Date.now() + 3_600_000), lease_token: null };
    const theirs = await seedPrediction(stack.sql, world, { status: "processing", columns });
    await untilNobodyLooks(stack.sql);
    const before = await wholeDatabase();
    const captured = capture(failure());
    for (const query of [
      `prediction=${theirs.id}&attempt=1`,
      `prediction=${theirs.id}&attempt=2`,
      `${own}&prediction=${theirs.id}`,
      `prediction=${theirs.id.toUpperCase()}&attempt=1`,
      `prediction=${theirs.id}%00&attempt=1`,
      `prediction=${theirs.id}' or true --&attempt=1`,
      `prediction[]=${theirs.id}&attempt=1`,
      `attempt=1`,
    ]) {
      const { status } = await captured(encodeURI(query));
      expect([query, [400, 404]]).toEqual([query, expect.arrayContaining([status])]);
    }
    expect(await wholeDatabase()).toBe(before);
    const fresh = capture(JSON.stringify({ id: run, status: "starting", error: null, logs: "", output: null }));
    expect((await fresh(`prediction=${theirs.id}&attempt=1`)).status).toBe(404);
    expect(JSON.parse((await fresh(own)).body)).toMatchObject({ data: { outcome: "unchanged" } });
  });

  test("a captured callback sent again, twenty times at once and later → recorded once, then unchanged", async () => {
    const again = capture(JSON.stringify({ id: run, status: "processing", error: null, logs: " 60%|", output: null }));
    const answers = await Promise.all(Array.from({ length: 20 }, () => again(own)));
    const outcomes = answers.map(
      (answer) => (JSON.parse(answer.body) as { data: { outcome: string } | null }).data?.outcome,
    );
    expect(outcomes.filter((outcome) => outcome !== "unchanged")).toHaveLength(1);
    const before = await wholeDatabase();
    expect((await again(own)).status).toBe(200);
    expect(await wholeDatabase()).toBe(before);
  });
});

test("genuine callbacks and kicks, signed in the same way → 200 and 202, and the waiting work is done", async () => {
  for (const [name, target] of Object.entries(TARGETS)) {
    const { url, ...sender } = target();
    const { status } = await rawExchange(url, "POST", signed(sender), sender.body);
    expect([name, status]).toEqual([name, name === "keyframe-replicate-webhook" ? 200 : 202]);
  }
  await until("the waiting prediction and the waiting delivery are taken up", async () => {
    const [row] = await stack.sql<{ taken: boolean }[]>`
      select p.status <> 'queued' and d.attempts > 0 as taken from keyframe.predictions p, keyframe.webhook_deliveries d
      where p.id = ${due.prediction} and d.id = ${due.delivery}`;
    return row?.taken;
  });
});
