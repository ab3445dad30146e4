import { afterAll, beforeAll, expect, test } from "vitest";
import { runBurst } from "../../lab/bench/deliver/burst.ts";
import { keyframeWay } from "../../lab/bench/deliver/ways.ts";
import { ENDPOINTS, openScene, type Scene } from "../../lab/bench/deliver/scene.ts";
import { quantile } from "../../lab/bench/measure.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

// Its own stack: 1,000 deliveries at once would be in the way of other tests.
let stack: OwnStack;
let scene: Scene;
beforeAll(async () => {
  stack = await startOwnStack();
  scene = await openScene(stack.databaseUrl);
});
afterAll(async () => {
  await scene.close();
  await stack.stop();
});

const ROUNDS = 3;
const EACH = 50;
const HANGING = ENDPOINTS.slice(0, 2);
const HEALTHY = ENDPOINTS.slice(2);

/** What a machine that does other things at the same time may add. The figure itself is the benchmark's: at most 1.2. */
const NOISE = 2;

/** By when 95 of 100 events had come to an endpoint that answers, in ms from their commit. */
async function p95(endpoints: number[], hanging: number[]): Promise<number> {
  const { delays } = await runBurst(scene, keyframeWay(scene), { events: EACH * endpoints.length, endpoints, hanging });
  return quantile(delays, 0.95);
}

test("1,000 deliveries over 20 endpoints of which 2 hang → the other 18 take no longer than without the two", async () => {
  await p95(ENDPOINTS, []); // warms up
  const alone: number[] = [];
  const beside: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await p95(HEALTHY, []));
    beside.push(await p95(ENDPOINTS, HANGING));
  }
  const ratio = quantile(beside, 0.5) / quantile(alone, 0.5);
  console.log(
    `18 healthy endpoints: p95 ${Math.round(quantile(alone, 0.5))} ms alone, ${ratio.toFixed(2)} times that beside two that hang`,
  );
  expect(ratio).toBeLessThan(NOISE);
});

test("while the two hang → eight requests of each are under way, none has ended, and all others are delivered at the first attempt", async () => {
  const { receiver, sql } = scene;
  await receiver.begin(HANGING);
  await keyframeWay(scene).commit(EACH * ENDPOINTS.length, ENDPOINTS);
  await receiver.waitFor(EACH * HEALTHY.length, 60_000);
  const pending = await until("only deliveries to the two are pending", async () => {
    const rows = await sql<{ number: number; is_leased: boolean; attempts: number }[]>`
      select e.number, l.leased_until > now() as is_leased, sum(d.attempts)::int as attempts
      from keyframe.webhook_deliveries d join bench.endpoints e on e.id = d.endpoint_id
      join keyframe_private.lanes l on l.endpoint_id = d.endpoint_id
      where d.status = 'pending' group by e.number, l.leased_until order by e.number`;
    return rows.length <= HANGING.length && rows;
  });
  expect(pending).toEqual(HANGING.map((number) => ({ number, is_leased: true, attempts: 0 })));
  expect((await receiver.report()).hung).toBe(8 * HANGING.length);
  const healthy = await sql`
    select from keyframe.webhook_deliveries d join bench.endpoints e on e.id = d.endpoint_id
    where e.number <> all (${HANGING}) and not (d.status = 'delivered' and d.attempts = 1)`;
  expect(healthy).toHaveLength(0);
  await receiver.release();
});
