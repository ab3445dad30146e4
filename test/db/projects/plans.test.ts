import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addFilm, addShot } from "../../support/database/films.ts";
import { type Row, seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { scalar } from "../../support/database/scalar.ts";
import { addReference } from "../../support/database/user.ts";
import { call } from "../../support/database/webhooks.ts";

// The plan of a shot is what its starts take from it where they say nothing else: from the API, a film's step, a quote and the table editor.

const db = useDatabase("shipped limits");
const world = useWorld(db);
type Priced = { model: string; quoteId: string; atMostMicros: number };
const SEEDED = "black-forest-labs/flux-2-pro";

const asOwner = <Answer>(name: string, args: Record<string, string | number | boolean | object | null>) =>
  call<Answer>(db, world.owner, name, args);
type Changed = { project: Row & { plan: object } };
const change = async (changes: object, more: Record<string, object> = {}) =>
  (await asOwner<Changed>("update_project", { project_id: world.project, changes, ...more })).project;
const plan = async (settings: object) => (await change({ plan: settings })).plan;
const startFrame = async (fields: Record<string, string | object> = {}) => {
  const asked = { project_id: world.project, step: "first-frame", ...fields };
  return (await asOwner<{ prediction: Row & { input: Row } }>("start_prediction", asked)).prediction;
};
const startVideo = (fields = {}) => startFrame({ step: "video", ...fields });
const isUsed = (path: string) => scalar(db.sql`select keyframe_private.is_reference_used(${path})`);

describe("a start of a planned step", () => {
  test("a start of a planned step → has the plan's model, prompt and references; what the start itself names comes first", async () => {
    const [planned, other] = [await addReference(db, world.owner), await addReference(db, world.owner)];
    await plan({ "first-frame": { model: SEEDED, prompt: "A pier in snow", referenceImagePaths: [planned] } });
    const made = await startFrame();
    expect(made).toMatchObject({ model: SEEDED, input: { prompt: "A pier in snow", referenceImagePaths: [planned] } });
    expect((await startFrame({ input: { referenceImagePath: other, prompt: "A pier" } })).input).toMatchObject({
      ...{ prompt: "A pier", referenceImagePaths: [other] },
    });
    // An answer's input, sent again, is what it was: its nulls say that nothing was set.
    await plan({ "first-frame": { prompt: "Another" } });
    expect((await startFrame({ model: SEEDED, input: { ...made.input, seed: null } })).input).toEqual(made.input);
  });

  test("a start that names another model than the plan → has the plan's prompt and images, not its other settings", async () => {
    const settings = { durationSeconds: 10, resolution: "1080p" };
    await plan({ video: { model: "kwaivgi/kling-v2.1", ...settings, prompt: "The boat leaves" } });
    const frame = await seedPrediction(db.sql, world, { status: "succeeded" });
    expect((await startVideo()).input).toMatchObject(settings);
    const { model, input } = await startVideo({ model: "minimax/hailuo-02" });
    expect(model).toBe("minimax/hailuo-02");
    expect(input).toMatchObject({ prompt: "The boat leaves", firstFramePredictionId: frame.id });
    expect(input.durationSeconds).not.toBe(10);
  });

  test("a plan without a model → a start that names the default model has all its settings; another model, the prompt only", async () => {
    const frame = await seedPrediction(db.sql, world, { status: "succeeded" });
    await plan({ video: { durationSeconds: 10, prompt: "The boat leaves" } });
    const { model } = await startVideo();
    const planned = { prompt: "The boat leaves", durationSeconds: 10, firstFramePredictionId: frame.id };
    expect((await startVideo({ model })).input).toMatchObject(planned);
    expect((await startVideo({ model: "minimax/hailuo-02" })).input.durationSeconds).not.toBe(10);
  });

  test("a planned model that is not available → the start is refused: change the plan, or name another model", async () => {
    await plan({ "first-frame": { model: SEEDED } });
    await db.sql`update keyframe.models set shutdown_at = now() where model = ${SEEDED}`;
    expect(await refusalOf(startFrame())).toMatchObject({
      message: "model_unavailable",
      detail: `This shot's plan uses the model ${SEEDED}, which is not available. Change the plan, or name another model.`,
    });
    await db.sql`update keyframe.models set shutdown_at = null where model = ${SEEDED}`;
  });

  test("a start of a frame without planned references → has the project's image, if the model takes one; `[]` → none", async () => {
    const image = await addReference(db, world.owner);
    await change({ reference_image_path: image });
    expect((await startFrame()).input).toMatchObject({ referenceImagePaths: [image] });
    await db.sql`
      insert into keyframe.models (step, model, label, vendor, controls)
      values ('first-frame', 'test/text', 'Text only', 'Test', '{"prompt": {"field": "prompt"}}')`;
    expect((await startFrame({ model: "test/text" })).input.referenceImagePaths).toEqual([]);
    expect((await startFrame({ input: { referenceImagePaths: [] } })).input).toMatchObject({ referenceImagePaths: [] });
    await plan({ "first-frame": { referenceImagePaths: [] } });
    expect((await startFrame()).input).toMatchObject({ referenceImagePaths: [] });
    const film = await addFilm(db, world.owner);
    await change({ film_id: film, plan: { "first-frame": null } });
    const step = { film_id: film, step: "first-frame" };
    await db.sql`delete from keyframe.predictions`;
    const { predictions } = await asOwner<{ predictions: { input: Row }[] }>("start_film", step);
    expect(predictions[0]?.input).toMatchObject({ referenceImagePaths: [image] });
  });

  test("a planned model without a last frame, or that needs a first one → the video is made as the model can", async () => {
    const first = await seedPrediction(db.sql, world, { status: "succeeded" });
    await seedPrediction(db.sql, world, { step: "last-frame", status: "succeeded" });
    const hailuo = "minimax/hailuo-2.3";
    for (const [video, firstFramePredictionId] of [
      [{ model: hailuo, lastFramePredictionId: null }, first.id],
      [{ model: hailuo }, first.id],
      [{ firstFramePredictionId: null }, null], // by the default model, whose last frame needs a first one
      [{ model: "kwaivgi/kling-v2.1", firstFramePredictionId: null, lastFramePredictionId: null }, first.id],
    ] as const) {
      await plan({ video });
      expect((await startVideo()).input).toMatchObject({ firstFramePredictionId, lastFramePredictionId: null });
    }
  });

  test("estimate, quote, film start and table editor row of a planned step → the same model and input", async () => {
    await plan({ "first-frame": { model: SEEDED, prompt: "A pier in snow" } });
    const film = await addFilm(db, world.owner);
    await change({ film_id: film });
    await addShot(db, world.owner, film);
    const asked = { project_id: world.project, step: "first-frame", quote: true };
    const { estimate } = await asOwner<{ estimate: Priced }>("estimate_prediction", asked);
    expect(estimate.model).toBe(SEEDED);
    const quoted = { quote_id: estimate.quoteId, at_most_micros: estimate.atMostMicros };
    const { prediction } = await asOwner<{ prediction: Row }>("start_quote", quoted);
    await db.sql`delete from keyframe.predictions`;
    const step = { film_id: film, step: "first-frame" };
    const { estimate: ofFilm } = await asOwner<{ estimate: { shots: Row[] } }>("estimate_film", step);
    const { predictions } = await asOwner<{ predictions: Row[] }>("start_film", step);
    const [row] =
      await db.sql`insert into keyframe.predictions (project_id, step) values (${world.project}, 'first-frame') returning model, input`;
    expect(ofFilm.shots[0]?.model).toBe(SEEDED);
    const like = { model: SEEDED, input: { prompt: "A pier in snow" } };
    expect([prediction, predictions[0], row]).toMatchObject([like, like, like]);
    expect(predictions[1]?.model).not.toBe(SEEDED);
  });

  test("the plan changes after a quote → the quote is refused, nothing is started", async () => {
    const asked = { project_id: world.project, step: "first-frame", quote: true };
    const { estimate } = await asOwner<{ estimate: Priced }>("estimate_prediction", asked);
    await plan({ "first-frame": { prompt: "Another" } });
    const quoted = { quote_id: estimate.quoteId, at_most_micros: estimate.atMostMicros };
    expect(await codeOf(asOwner("start_quote", quoted))).toBe("precondition_failed");
  });
});

describe("a change of a plan", () => {
  test("a change of one step of a plan → the other steps stay, null deletes the step, and the version moves", async () => {
    const before = await change({ plan: { video: { durationSeconds: 5 }, "first-frame": { prompt: "A" } } });
    const after = await change({
      plan: { video: { durationSeconds: 10, firstFramePredictionId: null }, "first-frame": null },
    });
    expect(after.plan).toEqual({ video: { durationSeconds: 10, firstFramePredictionId: null } });
    expect(after.updated_at).not.toBe(before.updated_at);
    const stale = change({ plan: {} }, { versions: [before.updated_at] });
    expect(await codeOf(stale)).toBe("precondition_failed");
    expect(await codeOf(change({ plan: [1] }))).toBe("invalid_request");
    expect((await change({ title: "Pier" })).plan).toEqual(after.plan);
  });

  test.each([
    ["no object", [1], "invalid_request"],
    ["an unknown step", { middle: {} }, "invalid_request"],
    ["an unknown field", { video: { durationsSeconds: 5 } }, "invalid_request"],
    ["a seed", { video: { seed: 1 } }, "invalid_request"],
    ["a step that is not an object", { video: 5 }, "invalid_request"],
    ["a frame that is not an id", { video: { firstFramePredictionId: "x" } }, "invalid_request"],
    ["a frame that is a list", { video: { lastFramePredictionId: [] } }, "invalid_request"],
    ["a choice that is an object", { video: { resolution: { output: {} } } }, "invalid_request"],
    ["a choice that is a list", { video: { aspectRatio: ["16:9"] } }, "invalid_request"],
    ["an empty prompt", { video: { prompt: " " } }, "invalid_request"],
    ["references that are not paths", { video: { referenceImagePaths: [[]] } }, "invalid_request"],
    ["a continuesPreviousShot that is a text", { video: { continuesPreviousShot: "true" } }, "invalid_request"],
    [
      "31 images",
      { video: { referenceImagePaths: Array.from(Array(31), (_, i) => `projects/${i}.png`) } },
      "invalid_request",
    ],
    ["an unknown model", { video: { model: "nobody/nothing" } }, "unsupported_input"],
    ["a model of another step", { video: { model: SEEDED } }, "unsupported_input"],
    ["an image that is not there", { video: { firstFrameImagePath: "projects/none.png" } }, "not_found"],
    ["more than 64 kB", { video: { prompt: "x".repeat(66_000) } }, "invalid_request"],
  ])("a plan with the mistake “%s” → refused, and the old plan stays", async (_what, settings, code) => {
    const update = db.asUser(
      world.owner,
      (sql) => sql`update keyframe.projects set plan = ${sql.json(settings as never)} where id = ${world.project}`,
    );
    expect(await codeOf(update)).toBe(code);
  });
});

test("the Data API with plans → a user writes a plan, and changes a project that has one", async () => {
  await db.asUser(world.owner, async (sql) => {
    await sql`insert into keyframe.projects (title, text_prompt, plan) values ('Pier', 'A pier', '{"video": {"durationSeconds": 5}}')`;
    await sql`update keyframe.projects set plan = '{"video": {"durationSeconds": 10}}' where title = 'Pier'`;
    await sql`update keyframe.projects set element_ids = '{}', film_id = null where title = 'Pier'`;
  });
});

test("the model of a plan gets another name → the plan has the new name; it is deleted → the project can still be changed", async () => {
  await plan({ video: { model: "minimax/hailuo-02", durationSeconds: 6 } });
  await db.sql`update keyframe.models set model = 'minimax/hailuo-new' where model = 'minimax/hailuo-02'`;
  expect((await change({ title: "Pier" })).plan).toEqual({
    video: { model: "minimax/hailuo-new", durationSeconds: 6 },
  });
  await db.sql`delete from keyframe.models where model = 'minimax/hailuo-new'`;
  expect((await change({ title: "Pier, again" })).title).toBe("Pier, again");
});

test("an image of a plan → kept while the plan names it; left out, or deleted with the project → removed", async () => {
  const [kept, left] = [await addReference(db, world.owner), await addReference(db, world.owner)];
  const prompt = "projects/none.png"; // no image, though it looks like one
  await plan({ video: { firstFrameImagePath: kept, prompt }, "first-frame": { referenceImagePaths: [left] } });
  expect([await isUsed(kept), await isUsed(left)]).toEqual([true, true]);
  await plan({ "first-frame": null });
  expect([await isUsed(kept), await isUsed(left)]).toEqual([true, false]);
  await asOwner("delete_project", { project_id: world.project });
  const removals =
    await db.sql`select 'projects/' || name as path from keyframe_private.file_removals where owner_id = ${world.owner}`;
  expect(removals).toEqual([{ path: kept }]);
});
