import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addWorld, seedPrediction } from "../../support/database/predictions.ts";
import { refusalOf } from "../../support/database/refusal.ts";
import { scalar } from "../../support/database/scalar.ts";
import { addReference } from "../../support/database/user.ts";

const db = useDatabase();

type Cost = { price_ids: number[] | null; most: number | null; estimate: number | null };
/** What a run can cost, in dollars. */
async function mostCost(model: string, input: object, at = "now"): Promise<Cost> {
  const [cost] = await db.sql<Cost[]>`
    select c.price_ids::int[] as price_ids, c.most_micros / 1e6::float as most, c.estimate_micros / 1e6::float as estimate
    from keyframe_private.estimate_cost(${model}, ${JSON.stringify(input)}::text::jsonb, ${at}::text::timestamptz) c`;
  if (!cost) throw new Error("estimate_cost gave no row.");
  return cost;
}
type Finished = { metrics?: object | null; output?: object | null };
/** What a finished run costs, in dollars. */
async function settledCost(ids: number[] | null, { metrics = null, output = null }: Finished): Promise<number | null> {
  const json = (value: object | null) => (value === null ? null : JSON.stringify(value));
  return await scalar(db.sql`
    select keyframe_private.settled_cost(${ids === null ? null : db.sql.array(ids)}::bigint[],
      ${json(metrics)}::text::jsonb, ${json(output)}::text::jsonb) / 1e6::float`);
}

// What each shipped model costs: models.test.ts.
test("the reference images of FLUX.2 Pro → each is billed by whole megapixels; an image of unknown size → no price", async () => {
  const { owner, project } = await addWorld(db);
  const paths = [
    await addReference(db, owner, { width: 1024, height: 1024 }),
    await addReference(db, owner, { width: 2000, height: 1500 }),
  ];
  const frame = await seedPrediction(db.sql, { owner, project }, { status: "succeeded" });
  const flux = (images: object) => mostCost("black-forest-labs/flux-2-pro", { resolution: "1 MP", ...images });
  expect((await flux({ referenceImagePaths: paths })).most).toBe(0.09);
  expect((await flux({ referenceImagePaths: paths, firstFramePredictionId: frame.id })).most).toBe(0.105);
  const unknown = await addReference(db, owner, null);
  expect(await flux({ referenceImagePaths: [...paths, unknown] })).toMatchObject({ most: null, estimate: null });
});

const VIDEO = {
  prompt: { field: "prompt" },
  firstFrame: { field: "image" },
  resolution: { field: "r", values: ["720p", "1080p"], default: "720p" },
  audio: { field: "a", values: [false, true], default: false },
};
let model: string;
const addModel = (controls: object = VIDEO) => db.sql`
  insert into keyframe.models (step, model, label, vendor, controls)
  values ('video', ${model}, 'Test', 'Test', ${JSON.stringify(controls)}::text::jsonb)`;
type Price = { metric?: string; applies?: unknown; usd?: number | string; from?: string };
async function addPrice({ metric = "output_second", applies = {}, usd = 0.1, from = "now" }: Price = {}) {
  const [row] = await db.sql<{ id: number }[]>`
    insert into keyframe_private.model_prices (model, applies_to, metric, price_usd, valid_from, source)
    values (${model}, ${JSON.stringify(applies)}::text::jsonb, ${metric}, ${usd}::text::numeric, ${from}::text::timestamptz, 'https://example.org')
    returning id::int`;
  return row?.id ?? 0;
}
beforeEach(() => {
  model = `test/${crypto.randomUUID()}`;
});

describe("the price of a run", () => {
  beforeEach(() => addModel());
  const RUN = { resolution: "720p", audio: false, durationSeconds: 5 };

  test("several price rows fit a run → the one that names the most values; among those, the newest in force", async () => {
    await addPrice({ usd: 0.1, from: "2026-01-01" });
    await addPrice({ usd: 0.2, applies: { resolution: "720p" }, from: "2026-01-01" });
    await addPrice({ usd: 0.3, applies: { resolution: "720p" }, from: "2026-02-01" });
    await addPrice({ usd: 0.9, applies: { resolution: "720p" }, from: "2030-01-01" });
    await addPrice({ usd: 0.5, applies: { resolution: "720p", audio: true }, from: "2026-01-01" });
    expect((await mostCost(model, RUN)).most).toBe(1.5);
    expect((await mostCost(model, RUN, "2026-01-15")).most).toBe(1);
    expect((await mostCost(model, RUN, "2031-01-01")).most).toBe(4.5);
    expect((await mostCost(model, { ...RUN, audio: true })).most).toBe(2.5);
    expect((await mostCost(model, { ...RUN, resolution: "1080p" })).most).toBe(0.5);
    expect((await mostCost(model, RUN, "2025-12-31")).most).toBeNull();
  });

  test("the price of a run with several metrics → their sum, in whole micro-dollars, rounded up", async () => {
    const ids = [await addPrice({ metric: "run", usd: 0.01 }), await addPrice({ usd: "0.00000033" })];
    expect(await mostCost(model, RUN)).toEqual({ price_ids: ids, most: 0.010002, estimate: 0.010002 });
  });

  test("a run with a metric without a price row, or of unknown length → its price is unknown, never a part of it", async () => {
    await addPrice({ usd: 0.1 });
    expect((await mostCost(model, { resolution: "720p" })).most).toBeNull();
    await addPrice({ metric: "run", usd: 0.01, applies: { audio: true } });
    expect(await mostCost(model, RUN)).toEqual({ price_ids: null, most: null, estimate: null });
    expect((await mostCost(model, { ...RUN, audio: true })).most).toBe(0.51);
  });

  test("the price of a run is unknown, and the model has a cost ceiling → at most the ceiling, and no estimate", async () => {
    await db.sql`update keyframe.models set cost_ceiling_micros = 900000 where model = ${model}`;
    expect(await mostCost(model, RUN)).toEqual({ price_ids: null, most: 0.9, estimate: null });
    const id = await addPrice({ metric: "hardware_second", usd: 0.001 });
    expect(await mostCost(model, RUN)).toEqual({ price_ids: [id], most: 0.9, estimate: null });
    expect(await settledCost([id], { metrics: { predict_time: 12.5, total_time: 90 } })).toBe(0.0125);
  });

  test("a price of 0 → the run costs nothing, and that is known", async () => {
    await addPrice({ metric: "run", usd: 0 });
    expect((await mostCost(model, RUN)).most).toBe(0);
  });

  test("a price of 0 per unit of an unknown quantity → the cost is known to be 0, before and after the run", async () => {
    const ids = [];
    for (const metric of ["hardware_second", "input_megapixel", "output_megapixel"])
      ids.push(await addPrice({ metric, usd: 0 }));
    const unsized = { ...RUN, referenceImagePaths: ["projects/unknown.png"] };
    expect(await mostCost(model, unsized)).toEqual({ price_ids: ids, most: 0, estimate: 0 });
    expect(await settledCost(ids, {})).toBe(0);
  });
});

test.each<[metric: string, finished: Finished, dollars: number | null]>([
  ["run", {}, 0.1],
  ["image", { metrics: { image_output_count: 3 } }, 0.3],
  ["image", { output: { width: 1024, height: 1024 } }, 0.1],
  ["output_second", { metrics: { video_output_duration_seconds: 5 }, output: { durationSeconds: 5.04 } }, 0.5],
  ["output_second", { metrics: { predict_time: 60 }, output: { durationSeconds: 5.04 } }, 0.504],
  ["output_second", { metrics: { video_output_duration_seconds: "5" }, output: { durationSeconds: 5.04 } }, 0.504],
  ["output_second", { metrics: { video_output_duration_seconds: -1 } }, null],
  ["output_second", { output: { width: 1280, height: 720 } }, null],
  ["output_megapixel", { metrics: { image_output_megapixel_count: 2 }, output: { width: 1344, height: 768 } }, 0.2],
  ["output_megapixel", { output: { width: 1344, height: 768 } }, 0.1],
  ["output_megapixel", { output: { width: 2048, height: 1152 } }, 0.3],
  ["input_megapixel", { metrics: { image_input_megapixel_count: 4 } }, 0.4],
  ["input_megapixel", { output: { width: 1024, height: 1024 } }, null],
  ["hardware_second", { metrics: { predict_time: 2.5 } }, 0.25],
  ["hardware_second", { metrics: null, output: { durationSeconds: 5 } }, null],
])("a finished run, 0.1 dollars per %s, %j → settled at %s", async (metric, finished, dollars) => {
  await addModel();
  expect(await settledCost([await addPrice({ metric })], finished)).toBe(dollars);
});

test("a run without prices, or with one of its prices deleted → no settled cost", async () => {
  await addModel();
  const id = await addPrice({ metric: "run" });
  expect(await settledCost(null, {})).toBeNull();
  expect(await settledCost([], {})).toBeNull();
  expect(await settledCost([id, 2 ** 40], {})).toBeNull();
});

describe("a malformed row → refused, with the path of its mistake", () => {
  beforeEach(() => addModel());

  test.each<[string, Price, RegExp]>([
    ["a metric that there is not", { metric: "second" }, /^metric must be run, image, output_second,/],
    ["values that are a list", { applies: ["720p"] }, /^applies_to must be an object\.$/],
    ["an unknown control", { applies: { seed: 1 } }, /^applies_to\.seed is not a control of test\/\S+ with values\.$/],
    ["a control without values", { applies: { prompt: "x" } }, /^applies_to\.prompt is not a control/],
    ["an unknown value", { applies: { resolution: "4k" } }, /^applies_to\.resolution: test\/\S+ does not take "4k"\.$/],
    ["another type", { applies: { audio: "true" } }, /^applies_to\.audio: test\/\S+ does not take "true"\.$/],
    ["two mistakes", { metric: "", applies: { audio: 1 } }, /^applies_to\.audio: .* take 1\. metric must be/],
  ])("a price with %s → refused, with the path of the mistake", async (_what, price, words) => {
    const { message, constraint } = await refusalOf(addPrice(price));
    expect(constraint).toBe("price_is_well_formed");
    expect(message).toMatch(words);
  });

  test("two price rows fit the same input, and neither is more specific → the second is refused, naming the first", async () => {
    const id = await addPrice({ applies: { resolution: "720p" } });
    await addPrice({ applies: { resolution: "1080p" } });
    await addPrice({ applies: { audio: true }, metric: "run" });
    expect((await refusalOf(addPrice({ applies: { audio: true } }))).message).toContain(
      `applies_to fits some inputs that row ${id} ({"resolution": "720p"}) fits too, and neither names more values.`,
    );
    await addPrice({ applies: { resolution: "720p", audio: true } });
  });

  test("a price of an unknown model, or a second one with the same values and start → refused", async () => {
    await addPrice({ from: "2026-01-01" });
    expect((await refusalOf(addPrice({ from: "2026-01-01" }))).constraint).toBe("one_price_at_a_time");
    model = "test/none";
    expect((await refusalOf(addPrice())).message).toMatch(/^model: there is no model test\/none\./);
  });
});

test("a price that was in force → only its source can be changed; a price yet to come can be changed and deleted", async () => {
  await addModel();
  const id = await addPrice({ metric: "run", usd: 0.1 });
  for (const change of [
    db.sql`update keyframe_private.model_prices set price_usd = 0.2 where id = ${id}`,
    db.sql`update keyframe_private.model_prices set metric = 'image' where id = ${id}`,
    db.sql`delete from keyframe_private.model_prices where id = ${id}`,
  ])
    expect((await refusalOf(change)).constraint).toBe("price_in_force_stays");
  await db.sql`update keyframe_private.model_prices set source = 'https://example.org/2', checked_at = '2026-11-01' where id = ${id}`;
  const coming = await addPrice({ metric: "run", from: "2030-01-01" });
  await db.sql`update keyframe_private.model_prices set price_usd = 0.3 where id = ${coming}`;
  await db.sql`delete from keyframe_private.model_prices where id = ${coming}`;
});
