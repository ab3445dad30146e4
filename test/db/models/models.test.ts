import { beforeAll, expect, test } from "vitest";
import { billOf } from "../../../local/simulator/bill.ts";
import { checkInput } from "../../../local/simulator/check-input.ts";
import { models } from "../../../local/simulator/models.ts";
import { asksOf, completed, inputOf, modelRow, type ModelRow, usedBy } from "../../../tools/models-check/row-inputs.ts";
import { useDatabase } from "../../support/database/clone-database.ts";

// The rows that the migrations ship: what Postgres makes of each request that a row allows, and the mapper of that, against the model's
// recorded schema and the rules beyond it. `npm run models:check` compares the schemas with the provider's.

const db = useDatabase();
let rows: Map<string, ModelRow>;
beforeAll(async () => {
  const all = await db.sql`select m.*, false as is_default from keyframe.models m`;
  rows = new Map(all.map((row) => [`${row.step} by ${row.model}`, modelRow.parse(row)]));
});

const SERVED = Object.entries(models).flatMap(([name, model]) => {
  const steps = model.output === "video" ? (["video"] as const) : (["first-frame", "last-frame"] as const);
  return steps.map((step) => [`${step} by ${name}`, step, model] as const);
});

/** Fields by which Replicate or a vendor sets the price, and those that let a model send more than was asked. */
const PRICED =
  /^(resolution|mode|size|quality|duration|fps|draft|generate_audio(_switch)?|save_audio|max_images|sequential_image_generation|allow_fallback_model|google_search|image_search|generate_multi_clip_switch)$/;

test("the models to test → every model for every step that has a row, and no others", () => {
  expect([...rows.keys()].sort()).toEqual(SERVED.map(([name]) => name).sort());
});

test.each(SERVED)(
  "%s → the model takes each input that its row allows, and the hold is what the simulator bills",
  async (name, _step, model) => {
    const row = modelRow.parse(rows.get(name));
    const priced = Object.keys(model.input.fields).filter((field) => PRICED.test(field));
    const asks = asksOf(row);
    // Sound can have a price of its own at each resolution.
    const loud = asks.map((ask) => ({
      ...ask,
      what: `${ask.what}, with sound`,
      values: { audio: true, ...ask.values },
    }));
    for (const ask of row.controls.audio ? [...asks, ...loud] : asks) {
      const asked = { prompt: "A pier", aspectRatio: "16:9", ...ask.values };
      const [resolved] = await db.sql`
      select r.input, keyframe_private.most_quantity('output_megapixel', r.input)::float as megapixels, c.estimate_micros::float as estimate
      from keyframe.models m
      cross join lateral keyframe_private.resolve_values(${JSON.stringify(asked)}::text::jsonb, ${db.sql.array(usedBy(ask))}, m) r (input)
      cross join lateral keyframe_private.estimate_cost(m.model, r.input, now()) c
      where m.step = ${row.step} and m.model = ${row.model}`;
      expect(completed(row, { ...ask, values: asked }).values, ask.what).toEqual(resolved?.input);
      const input = inputOf(row, { ...ask, values: resolved?.input });
      expect(checkInput(model, input), `${ask.what}: ${JSON.stringify(input)}`).toEqual([]);
      expect(Object.keys(input), ask.what).toEqual(expect.arrayContaining(priced));
      const second = Number(input.duration ?? 0);
      const made = { run: 1, image: 1, second, input_megapixel: 0, output_megapixel: resolved?.megapixels ?? 0 };
      expect(billOf(row.model, input, made), ask.what).toBe(resolved?.estimate);
    }
    // All that the model can take is offered.
    expect(row.controls.lastFrame?.field).toBe(row.step === "video" ? model.lastFrame : undefined);
    expect(row.controls.referenceImages?.field).toBe(model.references);
    expect("seed" in row.controls).toBe("seed" in model.input.fields);
    expect("negativePrompt" in row.controls).toBe("negative_prompt" in model.input.fields);
  },
);

test("a row's maximum of reference images → the most that the model takes, as far as known", () => {
  for (const [name, step, model] of SERVED) {
    const { controls } = modelRow.parse(rows.get(name));
    const rule = model.rules?.find((one) => one.rule === "at most" && one.field === controls.referenceImages?.field);
    if (rule?.rule !== "at most" || model.references === undefined) continue;
    // Seedance 2.5 takes 30: nine are offered, as of the other two.
    expect(controls.referenceImages?.max, name).toBe(name.endsWith("seedance-2.5") ? 9 : rule.items);
    const countsFrames = step === "video" && rule.with !== undefined ? true : undefined;
    expect(controls.referenceImages?.countsFrames, name).toBe(countsFrames);
  }
});

test("each step's defaults → no announced end, take references and for a video faces; another vendor and a seed come next", async () => {
  const ends = await db.sql`
    select d.step, m.position = (select min(o.position) from keyframe.models o where o.step = d.step) as is_first, m.shutdown_at,
      m.controls ? 'referenceImages' as references, m.accepts_faces in ('yes', case when d.step <> 'video' then 'unknown' end) as faces,
      (select count(distinct o.vendor) from (select * from keyframe.models o where o.step = d.step order by position limit 2) o)::int as vendors,
      (select bool_or(o.controls ? 'seed') from (select * from keyframe.models o where o.step = d.step order by position limit 3) o) as seed
    from keyframe.step_defaults d join keyframe.models m using (step, model) order by d.step`;
  const good = { is_first: true, shutdown_at: null, references: true, faces: true, vendors: 2, seed: true };
  expect([...ends]).toEqual(["first-frame", "last-frame", "video"].map((step) => ({ step, ...good })));
});
