import { beforeAll, expect, test } from "vitest";
import { OPERATIONS } from "../../shared/contract/operations/index.ts";
import { emptyBucket, fillBuckets, tokensTaken } from "../support/api/buckets.ts";
import { callApi } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import {
  OPERATION_IDS,
  prepare,
  RATE_CLASSES,
  type RateClass,
  REQUESTS,
  request,
  type Scene,
  setScene,
} from "../support/api/requests.ts";
import { asProject } from "../support/api/webhooks.ts";

// The limits themselves are shared with every other test, so each test here empties a bucket of its own user instead.

const sql = openDatabase();
let scene: Scene;
let other: Scene;
beforeAll(async () => {
  [scene, other] = await Promise.all([setScene(sql), setScene(sql)]);
});

const LIMITED = OPERATION_IDS.filter((id) => REQUESTS[id].takes !== null);
const ofClass = (rateClass: RateClass) => LIMITED.filter((id) => REQUESTS[id].takes === rateClass);

test.each(LIMITED)("%s → takes one token of its class, and says what is left", async (id) => {
  const rateClass = REQUESTS[id].takes ?? "read";
  const { path, options } = await prepare(id, scene);
  await fillBuckets(sql, scene.user.id);
  const { status, headers } = await callApi(path, options);
  expect(status).toBe(OPERATIONS[id].status);
  const [limit] = await sql<{ capacity: number; seconds: number; refill: number }[]>`
    select capacity, ceil(capacity / per_second)::int as seconds, ceil(1 / per_second)::int as refill
    from keyframe_private.rate_limits where route_class = ${rateClass}`;
  expect(headers.get("ratelimit-policy")).toBe(`"${rateClass}";q=${limit?.capacity};w=${limit?.seconds}`);
  expect(headers.get("ratelimit")).toBe(`"${rateClass}";r=${(limit?.capacity ?? 0) - 1};t=${limit?.refill}`);
  const taken = await Promise.all(RATE_CLASSES.map((one) => tokensTaken(sql, scene.user.id, one)));
  expect(taken).toEqual(RATE_CLASSES.map((one) => (one === rateClass ? 1 : 0)));
});

test.each(LIMITED)("%s with an empty bucket → 429 with Retry-After, RateLimit and RateLimit-Policy", async (id) => {
  const rateClass = REQUESTS[id].takes ?? "read";
  const { path, options } = await prepare(id, scene);
  await fillBuckets(sql, scene.user.id);
  await emptyBucket(sql, scene.user.id, rateClass, 30);
  const { status, error, headers } = await callApi(path, options);
  expect([status, error?.code]).toEqual([429, "rate_limited"]);
  const [limit] = await sql<{ capacity: number; window: number; refill: number }[]>`
    select capacity, ceil(capacity / per_second)::int as window, ceil(1 / per_second)::int as refill
    from keyframe_private.rate_limits where route_class = ${rateClass}`;
  const wait = Number(headers.get("retry-after"));
  expect(wait).toBeGreaterThan(10);
  expect(wait).toBeLessThanOrEqual(30 + (limit?.refill ?? 0));
  expect(headers.get("ratelimit")).toBe(`"${rateClass}";r=0;t=${wait}`);
  expect(headers.get("ratelimit-policy")).toBe(`"${rateClass}";q=${limit?.capacity};w=${limit?.window}`);
});

test.each(RATE_CLASSES)(
  "an empty bucket of the class %s → the other classes and other users go on",
  async (rateClass) => {
    await fillBuckets(sql, scene.user.id);
    await emptyBucket(sql, scene.user.id, rateClass, 60);
    const [refused] = ofClass(rateClass);
    if (!refused) throw new Error("Each class has an operation.");
    expect((await request(refused, scene)).status).toBe(429);
    expect((await request(refused, other)).status).toBe(OPERATIONS[refused].status);
    for (const elsewhere of RATE_CLASSES) {
      const [id] = ofClass(elsewhere);
      if (id && elsewhere !== rateClass) expect((await request(id, scene)).status).toBe(OPERATIONS[id].status);
    }
  },
);

test("Retry-After waited out → the next request is admitted", async () => {
  await fillBuckets(sql, scene.user.id);
  const id = scene.user.id;
  await emptyBucket(sql, id, "generate", 30);
  const seconds = Number((await request("startFirstFrame", scene)).headers.get("retry-after"));
  const pass = (time: number) => sql`
    update keyframe_private.rate_buckets set refilled_at = refilled_at - ${time}::int * interval '1 second'
    where owner_id = ${id} and route_class = 'generate'`;
  await pass(10);
  expect((await request("startFirstFrame", scene)).status).toBe(429);
  await pass(seconds - 10);
  const admitted = await request("startFirstFrame", scene);
  expect([admitted.status, admitted.headers.get("ratelimit")]).toEqual([
    202,
    expect.stringMatching(/^"generate";r=[0-9];t=[56]\d$/),
  ]);
});

test("a request that is refused for another reason → costs no token", async () => {
  await fillBuckets(sql, scene.user.id);
  const nowhere = { ...scene, projectId: crypto.randomUUID(), webhookId: crypto.randomUUID() };
  for (const id of [
    "readProject",
    "changeProject",
    "startVideo",
    "cancelPrediction",
    "testWebhook",
    "revealSecret",
  ] as const) {
    expect((await request(id, nowhere)).status).toBe(404);
  }
  const taken = await Promise.all(RATE_CLASSES.map((one) => tokensTaken(sql, scene.user.id, one)));
  expect(taken).toEqual([0, 0, 0, 0, 0]);
});

test("80 reads at once with 50 tokens left → 50 are answered, 30 are refused", async () => {
  const id = scene.user.id;
  await fillBuckets(sql, id);
  // Nothing comes back meanwhile: the clock of this bucket begins later.
  await sql`
    insert into keyframe_private.rate_buckets (owner_id, route_class, tokens, refilled_at)
    values (${id}, 'read', 50, now() + interval '50 seconds')`;
  const replies = await Promise.all(Array.from({ length: 80 }, () => request("readWebhook", scene)));
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(50);
  expect(replies.filter(({ status }) => status === 429)).toHaveLength(30);
});

test("an administrator's update of keyframe_private.rate_limits → holds from the next request on, without a deploy", async () => {
  const id = scene.user.id;
  await fillBuckets(sql, id);
  const policy = async () => (await request("readProject", scene)).headers.get("ratelimit-policy");
  /** Ten thousand seconds ago so many tokens were missing that 20 per second do not make up for them, but 20.1 do. */
  const runDry = () => sql`
    insert into keyframe_private.rate_buckets (owner_id, route_class, tokens, refilled_at)
    values (${id}, 'read', -200500, now() - interval '10000 seconds')
    on conflict (owner_id, route_class) do update set tokens = excluded.tokens, refilled_at = excluded.refilled_at`;
  expect(await policy()).toBe('"read";q=1200;w=60');
  await runDry();
  expect((await request("readProject", scene)).status).toBe(429);
  // Raised by so little that nobody else notices.
  await sql`update keyframe_private.rate_limits set capacity = 1201, per_second = 20.1 where route_class = 'read'`;
  try {
    await runDry();
    expect(await policy()).toBe('"read";q=1201;w=60');
  } finally {
    await sql`update keyframe_private.rate_limits set capacity = 1200, per_second = 20 where route_class = 'read'`;
  }
  expect(await policy()).toBe('"read";q=1200;w=60');
});

test("health and the secret key → no limit, and no RateLimit headers", async () => {
  expect((await callApi("/api/health")).headers.get("ratelimit")).toBeNull();
  const { status, headers } = await asProject().call("/api/webhooks");
  expect([status, headers.get("ratelimit"), headers.get("ratelimit-policy")]).toEqual([200, null, null]);
});
