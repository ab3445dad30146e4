import { beforeAll, expect, test } from "vitest";
import { OPERATIONS } from "../../shared/contract/operations/index.ts";
import { emptyBucket, fillBuckets, tokensTaken } from "../support/api/buckets.ts";
import { openDatabase } from "../support/api/database.ts";
import {
  OPERATION_IDS,
  RATE_CLASSES,
  type RateClass,
  REQUESTS,
  request,
  type Scene,
  setScene,
} from "../support/api/requests.ts";

// The limits themselves are shared with every other test, so each test here empties a bucket of its own user instead.
// How tokens are counted and come back, and that the secret key has no limit: test/db/rights/rate-limits.test.ts.

const sql = openDatabase();
let other: Scene;
beforeAll(async () => {
  other = await setScene(sql);
});

const ofClass = (rateClass: RateClass) => OPERATION_IDS.filter((id) => REQUESTS[id].takes === rateClass);

test.each(RATE_CLASSES)(
  "an empty bucket of class %s → 429 with Retry-After and RateLimit; other classes and other users go on",
  async (rateClass) => {
    const scene = await setScene(sql); // the function remembers for a second whom the database has refused
    await fillBuckets(sql, scene.user.id);
    await emptyBucket(sql, scene.user.id, rateClass, 30);
    const [refused] = ofClass(rateClass);
    if (!refused) throw new Error("Each class has an operation.");
    const { status, error, headers } = await request(refused, scene);
    expect([status, error?.code]).toEqual([429, "rate_limited"]);
    const [limit] = await sql<{ policy: string; refill: number }[]>`
      select format('"%s";q=%s;w=%s', route_class, capacity, ceil(capacity / per_second)) as policy,
        ceil(1 / per_second)::int as refill from keyframe_private.rate_limits where route_class = ${rateClass}`;
    const wait = Number(headers.get("retry-after"));
    expect(wait).toBeGreaterThan(10);
    expect(wait).toBeLessThanOrEqual(30 + (limit?.refill ?? 0));
    expect(headers.get("ratelimit")).toBe(`"${rateClass}";r=0;t=${wait}`);
    expect(headers.get("ratelimit-policy")).toBe(limit?.policy);
    expect((await request(refused, other)).status).toBe(OPERATIONS[refused].status);
    for (const elsewhere of RATE_CLASSES) {
      const id = ofClass(elsewhere).find((one) => !REQUESTS[one].uses); // what it uses would take tokens of its own
      if (id && elsewhere !== rateClass) expect((await request(id, scene)).status).toBe(OPERATIONS[id].status);
    }
  },
);

test("a Data API call that is refused for another reason → its token stays taken", async () => {
  await fillBuckets(sql, other.user.id);
  const { error, status } = await other.user.supabase.rpc("read_film", { film_id: crypto.randomUUID() });
  expect([status, error?.code, error?.message]).toEqual([400, "KEYFR", "not_found"]);
  expect(await tokensTaken(sql, other.user.id, "read")).toBeGreaterThan(0.9);
});
