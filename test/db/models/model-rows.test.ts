import { expect, test } from "vitest";
import { z } from "zod";
import { modelList } from "../../../shared/contract/controls.ts";
import { asAdministrator, readRecipes } from "../../support/database/admin-recipes.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { refusalOf } from "../../support/database/refusal.ts";

const db = useDatabase();

const GOOD = {
  prompt: { field: "prompt" },
  firstFrame: { field: "image" },
  lastFrame: { field: "last", needs: ["firstFrame"], forces: { resolution: "1080p" } },
  resolution: { field: "mode", values: { "720p": "std", "1080p": "pro" }, order: ["720p", "1080p"], default: "720p" },
  durationSeconds: { field: "duration", values: [5, 10], default: 5 },
};
const add = (controls: unknown, fixed: unknown = {}, step = "video") => db.sql`
  insert into keyframe.models (step, model, label, vendor, controls, fixed)
  values (${step}::keyframe.generation_step, ${`test/${crypto.randomUUID()}`}, 'Test', 'Test',
    ${JSON.stringify(controls)}::text::jsonb, ${JSON.stringify(fixed)}::text::jsonb)`;

const changed = (name: keyof typeof GOOD) => (change: object) => ({ ...GOOD, [name]: { ...GOOD[name], ...change } });
const resolution = changed("resolution");
const duration = changed("durationSeconds");
const lastFrame = changed("lastFrame");
const prompt = changed("prompt");
const seed = (control: unknown) => ({ ...GOOD, seed: control });
const references = (control: object) => ({ ...GOOD, referenceImages: { field: "r", ...control } });
const aspect = (control: object) => ({ ...GOOD, aspectRatio: { field: "a", values: ["16:9"], ...control } });
const audio = (control: unknown) => ({ ...GOOD, audio: control });
const { prompt: _, ...WITHOUT_PROMPT } = GOOD;
const SEED = { field: "seed", min: 0, max: 9 };

/** What is said of a row → controls that are refused with it. */
const MALFORMED: [words: string, ...controls: unknown[]][] = [
  ["controls must be an object.", []],
  ["controls.prompt is missing.", WITHOUT_PROMPT],
  ["controls.hue is not a control of the step video. It has: prompt,", { ...GOOD, hue: SEED }],
  ["controls.seed must be an object.", seed("seed")],
  ["controls.resolution.dflt is not a key of this control. It takes: field, values,", resolution({ dflt: "720p" })],
  ["controls.prompt.values is not a key of this control. It takes: field, maxLength", prompt({ values: ["a"] })],
  ["controls.seed.field is missing", seed({ min: 0, max: 9 })],
  ["controls.prompt.field must be the name of a field.", prompt({ field: "the prompt" }), prompt({ field: "" })],
  ["controls.prompt.maxLength must be a positive integer.", prompt({ maxLength: "1" }), prompt({ maxLength: 1e11 })],
  ["controls.resolution.omitWith is only possible for aspectRatio: any", resolution({ omitWith: ["firstFrame"] })],
  [
    "controls.durationSeconds.values[1] must be a positive",
    ...["9", 7.5, 0].map((at) => duration({ values: [5, at] })),
  ],
  ['controls.aspectRatio.values[1] must be a ratio such as "16:9".', aspect({ values: ["16:9", "wide"] })],
  ["controls.audio.values[0] must be true or false.", audio({ field: "a", values: ["on"], default: "on" })],
  ["controls.resolution.values[1] must be a text.", resolution({ values: ["720p", ""], order: undefined })],
  ["controls.resolution.values.720p must be a text, a number, true", resolution({ values: { "720p": null } })],
  ["controls.durationSeconds.values.five cannot stand in an object", duration({ values: { five: 5 }, default: 5 })],
  ["controls.durationSeconds.values[2] is listed twice.", duration({ values: [5, 10, 5] })],
  ["controls.durationSeconds.values must not be empty.", duration({ values: [] })],
  ["controls.seed must have either values, or min and max.", seed({ field: "seed", min: 0 })],
  ["controls.seed.min must not be greater than max.", seed({ field: "seed", min: 9, max: 0 })],
  ["controls.resolution must have values, and no min or max.", resolution({ min: 1, max: 2 })],
  ["controls.resolution.default is not among its values.", resolution({ default: "4k" })],
  ["controls.durationSeconds.default is missing: it decides the price", duration({ default: undefined })],
  ["controls.resolution.order must name each key of values once", resolution({ order: ["720p"] })],
  ["controls.seed.field names the field mode, which controls.resolution.field", seed({ ...SEED, field: "mode" })],
  ["controls.referenceImages.list must be true", references({ max: 2 })],
  ["controls.referenceImages.max is missing", references({ list: true })],
  ["controls.lastFrame.needs[0] must be another control of this model, not seed.", lastFrame({ needs: ["seed"] })],
  ["controls.lastFrame.excludes[0] must be another control of this", lastFrame({ excludes: ["lastFrame"] })],
  ["controls.aspectRatio.omitWith[0] must be firstFrame, lastFrame or", aspect({ omitWith: ["durationSeconds"] })],
  ["controls.lastFrame.forces.resolution is not among the values", lastFrame({ forces: { resolution: "4k" } })],
  ["controls.lastFrame.forces.audio must be another control of this model.", lastFrame({ forces: { audio: false } })],
  ["controls.resolution.forcesByValue.4k is not among its values.", resolution({ forcesByValue: { "4k": {} } })],
  [
    "controls.resolution.forcesByValue.1080p.durationSeconds is not among the values of durationSeconds.",
    resolution({ forcesByValue: { "1080p": { durationSeconds: 6 } } }),
  ],
  [
    "controls.audio must be an object. controls.seed must have either values, or min and max. controls.seed.field must",
    { ...seed({ field: 1 }), audio: [] },
  ],
];

test.each(MALFORMED)("a model row whose mistake is: %s → refused in these words", async (words, ...wrong) => {
  for (const controls of wrong) {
    const { constraint, message } = await refusalOf(add(controls));
    expect(constraint).toBe("model_is_well_formed");
    expect(message).toContain(words);
  }
});

test.each<[words: string, fixed: unknown]>([
  ["fixed.mode names the field mode, which controls.resolution.field fills already.", { mode: "pro" }],
  ["fixed.a b must be the name of a field.", { "a b": 1 }],
  ["fixed must be an object.", []],
])("a row whose mistake is: %s → refused in these words", async (words, fixed) => {
  expect((await refusalOf(add(GOOD, fixed))).message).toContain(words);
});

test("a model row fixes a field whose control is left out next to images → accepted: the fixed value is sent then", async () => {
  await add(aspect({ omitWith: ["firstFrame"] }), { a: "adaptive" });
  expect((await refusalOf(add(aspect({}), { a: "adaptive" }))).message).toContain("fixed.a names the field a");
  await db.sql`delete from keyframe.models where model like 'test/%'`;
});

test("a model row of an image step with frames → refused", async () => {
  const frames = add({ prompt: GOOD.prompt, firstFrame: GOOD.firstFrame }, {}, "first-frame");
  expect((await refusalOf(frames)).message).toContain("controls.firstFrame is not a control of the step first-frame.");
});

test("a valid model row is changed to an invalid one → refused, and the row is as before", async () => {
  await add(GOOD);
  const wrong = db.sql`update keyframe.models set controls = controls - 'prompt' where model like 'test/%'`;
  expect((await refusalOf(wrong)).constraint).toBe("model_is_well_formed");
  const [row] = await db.sql`select controls from keyframe.models where model like 'test/%'`;
  expect(row?.controls).toEqual(GOOD);
  await db.sql`delete from keyframe.models where model like 'test/%'`;
});

const answer = z.object({ rate: z.unknown(), ...modelList.shape });
/** What a user gets of a step. */
async function listed(step: string) {
  const sub = await db.addUser();
  const { steps } = await db.asUser(sub, async (sql) => {
    const [row] = await sql`select keyframe.list_models() as answer`;
    return answer.parse(row?.answer);
  });
  return steps.find((one) => one.step === step)?.models ?? [];
}

test("the shipped models → none is configured to leave out the mark that AI made the file", async () => {
  const told = await db.sql`
    select model from keyframe.models where fixed::text || controls::text ~* 'watermark|c2pa|synthid|content_credentials'`;
  expect(told).toEqual([]);
});

test("list_models → each step's models in order, with the values of each control and none of the provider's fields", async () => {
  const [kling, veo] = await listed("video");
  expect(kling).toEqual({
    ...{ model: "kwaivgi/kling-v3-omni-video", label: "Kling 3.0 Omni", vendor: "Kuaishou", isDefault: true },
    ...{ available: true, acceptsFaces: "yes", shutdownAt: null, successor: null, promptMaxLength: 2500 },
    notes: expect.any(String),
    controls: {
      prompt: { maxLength: 2500 },
      firstFrame: {},
      lastFrame: { needs: ["firstFrame"] },
      referenceImages: { max: 7, countsFrames: true },
      aspectRatio: { values: ["16:9", "9:16", "1:1"] },
      resolution: { values: ["720p", "1080p", "4k"], default: "720p" },
      durationSeconds: { values: [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], default: 5 },
      audio: { values: [false, true], default: false },
    },
    billedWhen: { failed: "unknown", rejected: "unknown", canceled: "yes" },
    prices: expect.arrayContaining([
      {
        appliesTo: { resolution: "720p", audio: false },
        ...{ metric: "output_second", priceUsd: 0.168, checkedAt: "2026-10-05" },
      },
    ]),
  });
  expect(kling?.prices).toHaveLength(5);
  expect(veo).toMatchObject({
    isDefault: false,
    promptMaxLength: 4000,
    controls: { seed: { min: 0, max: 2147483647 } },
  });
  expect((await listed("first-frame")).map(({ isDefault }) => isDefault)).toEqual([true, ...Array(6).fill(false)]);
});

test("a model with an announced shutdown → listed with the day and its successor at no more cost; after it → not available", async () => {
  const banana = async () => (await listed("last-frame")).find(({ model }) => model === "google/nano-banana");
  expect(await banana()).toMatchObject({
    ...{ available: true, shutdownAt: "2027-03-15T00:00:00.000Z", successor: "black-forest-labs/flux-2-pro" },
  });
  await db.sql`update keyframe.models set shutdown_at = now() where model = 'google/nano-banana'`;
  expect(await banana()).toMatchObject({ available: false, successor: "black-forest-labs/flux-2-pro" });
});

test("docs/models.md, done in its order → the switched default, the value and the new model are listed, without a deploy", async () => {
  const recipes = await readRecipes("models");
  const run = (title: string) => asAdministrator(db.sql, recipes.find((one) => one.title === title)?.sql ?? "");
  expect(recipes.map(({ title }) => title)).toEqual([
    ...["Switch the model of a step", "Offer another value", "Add a model", "Offer a model", "When a model goes away"],
    "Where the file is",
  ]);
  const video = async (name: string) => (await listed("video")).find(({ model }) => model === name);

  await run("Switch the model of a step");
  expect((await video("google/veo-3.1"))?.isDefault).toBe(true);
  await run("Offer another value");
  expect((await video("kwaivgi/kling-v2.6"))?.controls.durationSeconds?.values).toEqual([5, 10, 15]);
  await run("Add a model");
  expect(await video("bytedance/seedance-1-pro")).toBeUndefined();
  await run("Offer a model");
  expect((await listed("video"))[2]).toMatchObject({ model: "bytedance/seedance-1-pro", available: true });
  await db.sql`update keyframe.models set refused_at = now() where model = 'kwaivgi/kling-v2.6'`;
  expect((await video("kwaivgi/kling-v2.6"))?.available).toBe(false);
  await run("When a model goes away");
  expect((await video("kwaivgi/kling-v2.6"))?.available).toBe(true);
  await run("Where the file is");
  const [row] = await db.sql`select output from keyframe.models where output is not null`;
  expect(row).toEqual({ output: "video" });
});
