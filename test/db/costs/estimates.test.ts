import { expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addWorld, seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { codeOf } from "../../support/database/refusal.ts";
import { addReference, start, type Wanted } from "../../support/database/user.ts";
import { call } from "../../support/database/webhooks.ts";

const db = useDatabase();
const world = useWorld(db);

async function estimate({ project, step = "first-frame", input = {}, model = null }: Wanted = {}): Promise<object> {
  const args = { project_id: project ?? world.project, step, input, model };
  return (await call<{ estimate: object }>(db, world.owner, "estimate_prediction", args)).estimate;
}
const amounts = (micros: number | null, most = micros) => ({ estimateMicros: micros, atMostMicros: most });

test("an estimate with default settings → the model that a start would take, and what it costs", async () => {
  const model = { model: "google/nano-banana-2", requestedModel: null };
  const cost = { ...amounts(67_000), currency: "USD", availableMicros: null, balance: null, withinBudget: true };
  expect(await estimate()).toEqual({ ...model, ...cost, elements: [], quoteId: null, quotedUntil: null });
});

test("an estimate with audio, length, resolution or reference images → counts each value that decides the price", async () => {
  await seedPrediction(db.sql, world, { status: "succeeded" });
  const veo = { step: "video", model: "google/veo-3.1" };
  expect(await estimate(veo)).toMatchObject(amounts(1_600_000));
  expect(await estimate({ ...veo, input: { audio: true, durationSeconds: 4 } })).toMatchObject(amounts(1_600_000));
  const path = await addReference(db, world.owner, { width: 2048, height: 1024 });
  const flux = { model: "black-forest-labs/flux-2-pro", input: { referenceImagePaths: [path], resolution: "2 MP" } };
  expect(await estimate(flux)).toMatchObject(amounts(75_000));
});

test("an estimate for a model without a known price → null, and at most the model's ceiling", async () => {
  await seedPrediction(db.sql, world, { status: "succeeded" });
  const long = { step: "video", model: "minimax/hailuo-2.3", input: { durationSeconds: 10 } };
  expect(await estimate(long)).toMatchObject(amounts(null));
  await db.sql`update keyframe.models set cost_ceiling_micros = 600000 where model = 'minimax/hailuo-2.3'`;
  expect(await estimate(long)).toMatchObject(amounts(null, 600_000));
});

test("an estimate while the default model is unavailable → the model that takes its place, and what that costs", async () => {
  await db.sql`update keyframe.models set refused_at = now() where step = 'first-frame' and model = 'google/nano-banana-2'`;
  const flux = { model: "black-forest-labs/flux-2-pro", requestedModel: "google/nano-banana-2" };
  expect(await estimate()).toMatchObject({ ...flux, ...amounts(30_000) });
  await db.sql`update keyframe.models set refused_at = null where step = 'first-frame'`;
});

test.each<[string, (of: { foreign: string; gone: string }) => Wanted, string]>([
  ["another user's project", ({ foreign }) => ({ project: foreign }), "not_found"],
  ["a model that there is not", () => ({ model: "test/none" }), "unsupported_input"],
  ["a model that is not available", ({ gone }) => ({ model: gone }), "model_unavailable"],
  ["a resolution that the model does not take", () => ({ input: { resolution: "8K" } }), "unsupported_input"],
  ["a field that no model has", () => ({ input: { colour: "red" } }), "invalid_request"],
  ["a video without a first frame", () => ({ step: "video" }), "frame_not_ready"],
  ["an unknown reference image", () => ({ input: { referenceImagePaths: ["projects/none.png"] } }), "not_found"],
])("an estimate of %s → refused as the start would be", async (_what, wantedOf, code) => {
  const gone = `test/${crypto.randomUUID()}`;
  await db.sql`
    insert into keyframe.models (step, model, label, vendor, shutdown_at, controls)
    values ('first-frame', ${gone}, 'Test', 'Test', now(), '{"prompt": {"field": "prompt"}}')`;
  const wanted = wantedOf({ foreign: (await addWorld(db)).project, gone });
  expect(await codeOf(estimate(wanted))).toBe(code);
  expect(await codeOf(start(db, world, wanted))).toBe(code);
});

test("an estimate → takes one read token, and writes no row and no kick", async () => {
  const path = await addReference(db, world.owner);
  await db.sql`delete from net.http_request_queue`;
  await estimate({ input: { referenceImagePaths: [path] } });
  const [left] = await db.sql`
    select (select count(*)::int from keyframe.predictions where owner_id = ${world.owner}) as predictions,
      (select count(*)::int from keyframe_private.prediction_images) as images,
      (select count(*)::int from keyframe_private.idempotency_keys) as keys,
      (select count(*)::int from net.http_request_queue) as kicks,
      (select array_agg(route_class) from keyframe_private.rate_buckets where owner_id = ${world.owner}) as tokens`;
  expect(left).toEqual({ predictions: 0, images: 0, keys: 0, kicks: 0, tokens: ["read"] });
});
