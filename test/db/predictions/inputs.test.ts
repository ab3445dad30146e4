import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { clearPredictions } from "../../support/database/empty-tables.ts";
import { addWorld, columnOf, seedPrediction, type Step, useWorld } from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { addReference, start, type Wanted } from "../../support/database/user.ts";

const db = useDatabase();
const world = useWorld(db);
beforeEach(async () => {
  await clearPredictions(db.sql);
  await db.sql`delete from keyframe.models where model like 'test/%'`;
  await seedPrediction(db.sql, world, { status: "succeeded" });
});

/** A video model of the tests, with a prompt and a first frame. */
const addModel = (name: string, controls: object, position = 1000) => db.sql`
  insert into keyframe.models (step, model, label, vendor, position, controls)
  values ('video', ${name}, ${name}, 'Test', ${position},
    ${db.sql.json({ prompt: { field: "prompt" }, firstFrame: { field: "image" }, ...controls })})`;

const video = async (input: Record<string, unknown>, more: Wanted = {}) =>
  (await start(db, world, { step: "video", model: "test/video", input, ...more })).prediction.input;
const refusal = async (input: Record<string, unknown>, more: Wanted = {}) =>
  (await refusalOf(start(db, world, { step: "video", model: "test/video", input, ...more }))).detail;

describe("the stored input is complete", () => {
  test("a start without choices → the model's defaults, and the project's prompt, aspect ratio and frame", async () => {
    await addModel("test/video", {
      durationSeconds: { field: "duration", values: [5, 10], default: 5 },
      audio: { field: "sound", values: [false, true], default: false },
      seed: { field: "seed", min: 0, max: 100 },
    });
    expect(await video({})).toEqual({
      prompt: "A harbour at dawn, fog, one red boat",
      firstFramePredictionId: expect.any(String),
      lastFramePredictionId: null,
      referenceImagePaths: [],
      aspectRatio: "16:9",
      durationSeconds: 5,
      audio: false,
    });
  });

  test("each value that a start chooses → stored; the input sent again as it was read → the same input", async () => {
    await addModel("test/video", {
      durationSeconds: { field: "duration", values: [5, 10], default: 5 },
      resolution: { field: "mode", values: { "720p": "std", "1080p": "pro" }, default: "720p" },
      negativePrompt: { field: "negative_prompt", maxLength: 10 },
      seed: { field: "seed", min: 0, max: 100 },
    });
    const values = { durationSeconds: 10, resolution: "1080p", negativePrompt: "blur", seed: 7 };
    const asked = { ...values, prompt: "The boat leaves" };
    const input = await video(asked);
    expect(input).toMatchObject(asked);
    expect(await video(input)).toEqual(input);
  });

  test("a start's value is null → as if it had not been sent; a frame that is null → no frame", async () => {
    await addModel("test/video", {
      lastFrame: { field: "end" },
      aspectRatio: { field: "ratio", values: ["16:9"] },
      durationSeconds: { field: "duration", values: [5, 10], default: 5 },
    });
    const { id } = await seedPrediction(db.sql, world, { step: "last-frame", status: "succeeded" });
    expect((await video({ durationSeconds: null, prompt: null })).durationSeconds).toBe(5);
    expect(await video({})).toMatchObject({ lastFramePredictionId: id });
    expect(await video({ lastFramePredictionId: null })).toMatchObject({ lastFramePredictionId: null });
    const none = { firstFramePredictionId: null, lastFramePredictionId: null };
    expect(await video(none)).toMatchObject(none);
  });

  test("several reference images → kept in order; one that does not exist → not_found, and nothing is started", async () => {
    const [one, two] = [await addReference(db, world.owner), await addReference(db, world.owner)];
    const { prediction } = await start(db, world, { input: { referenceImagePaths: [two, one] } });
    expect(prediction.input.referenceImagePaths).toEqual([two, one]);
    const images = await columnOf(db.sql`
      select concat_ws(' ', role, position, path) from keyframe_private.prediction_images where prediction_id = ${prediction.id} order by position`);
    expect(images).toEqual([`reference 1 ${two}`, `reference 2 ${one}`]);
    const missing = { referenceImagePaths: [one, "projects/missing.png"] };
    expect(await codeOf(start(db, world, { input: missing }))).toBe("not_found");
    const both = { referenceImagePaths: [one, two], referenceImagePath: one }; // as in an answer
    expect((await start(db, world, { input: both })).prediction.input.referenceImagePaths).toEqual([one, two]);
    expect(await codeOf(start(db, world, { input: { ...both, referenceImagePath: two } }))).toBe("invalid_request");
  });
});

describe("choices that depend on each other", () => {
  const RESOLUTION = { field: "mode", values: ["720p", "1080p", "4k"], default: "720p" };
  beforeEach(() =>
    addModel("test/video", {
      lastFrame: { field: "end", needs: ["firstFrame"], forces: { resolution: "1080p" } },
      referenceImages: { field: "images", list: true, max: 2, excludes: ["lastFrame"] },
      resolution: { ...RESOLUTION, forcesByValue: { "4k": { durationSeconds: 5 } } },
      durationSeconds: { field: "duration", values: [5, 10], default: 10 },
    }),
  );

  const setControl = (path: string, value: unknown) => db.sql`
    update keyframe.models set controls = jsonb_set(controls, ${path}::text[], ${JSON.stringify(value)}::text::jsonb) where model = 'test/video'`;
  const LENGTH_IN_4K = /^test\/video with resolution 4k takes durationSeconds 5 only, not 10\. /;

  test("a last frame that forces a resolution → that resolution is used; a start that chooses another → refused", async () => {
    const { id } = await seedPrediction(db.sql, world, { step: "last-frame", status: "succeeded" });
    expect(await video({})).toMatchObject({ lastFramePredictionId: id, resolution: "1080p" });
    expect(await refusal({ resolution: "720p" })).toMatch(
      /^test\/video with lastFrame takes resolution 1080p only, not 720p\. Models that take it: /,
    );
    expect(await video({ resolution: "720p", lastFramePredictionId: null })).toMatchObject({ resolution: "720p" });
    await setControl("{lastFrame,forces}", { resolution: "4k" }); // which forces a third
    expect(await video({})).toMatchObject({ resolution: "4k", durationSeconds: 5 });
  });

  test("a chosen or default value that forces another value → that one is used; a start that chooses a different one → refused", async () => {
    expect(await video({ resolution: "4k" })).toMatchObject({ durationSeconds: 5 });
    expect(await refusal({ resolution: "4k", durationSeconds: 10 })).toMatch(LENGTH_IN_4K);
    await setControl("{resolution,default}", "4k");
    expect(await video({})).toMatchObject({ resolution: "4k", durationSeconds: 5 });
    expect(await refusal({ durationSeconds: 10 })).toMatch(LENGTH_IN_4K);
    expect(await video({ durationSeconds: 10, resolution: "720p" })).toMatchObject({ durationSeconds: 10 });
  });

  test("a start without an image that the model requires → refused", async () => {
    await setControl("{lastFrame,required}", true);
    expect(await refusal({})).toMatch(/^test\/video needs a lastFrame\./);
    await seedPrediction(db.sql, world, { step: "last-frame", status: "succeeded" });
    expect(await video({})).toMatchObject({ resolution: "1080p" });
  });

  test("images of which the model takes only one → refused, with both names", async () => {
    await seedPrediction(db.sql, world, { step: "last-frame", status: "succeeded" });
    const reference = await addReference(db, world.owner);
    expect(await refusal({}, { reference })).toMatch(/^test\/video takes either referenceImages or lastFrame/);
    const taken = await video({ lastFramePredictionId: null }, { reference });
    expect(taken).toMatchObject({ referenceImagePaths: [reference] });
  });
});

describe("choices that the model does not take → refused before any charge, with the models that take them", () => {
  beforeEach(async () => {
    await addModel("test/video", {
      durationSeconds: { field: "duration", values: [5, 10], default: 5 },
      seed: { field: "seed", min: 0, max: 100 },
      negativePrompt: { field: "negative_prompt", maxLength: 10 },
    });
    const others = { resolution: { field: "size", values: ["9k"], default: "9k" } };
    await addModel("test/other", { ...others, durationSeconds: { field: "duration", values: [7], default: 7 } }, 1);
  });

  test.each<[input: Record<string, unknown>, sentence: RegExp]>([
    [{ durationSeconds: 7 }, /^durationSeconds 7: test\/video takes 5, 10\. Models that take it: test\/other/],
    [{ durationSeconds: 99 }, /^durationSeconds 99: .* No other model of this step takes it\.$/],
    [{ durationSeconds: "5" }, /^durationSeconds 5: test\/video takes 5, 10\./],
    [{ durationSeconds: [5] }, /^durationSeconds 3 characters: /],
    [{ seed: 101 }, /^seed 101: test\/video takes 0 to 100\./],
    [{ seed: 1.5 }, /^seed 1\.5: /],
    [{ negativePrompt: "more than ten" }, /^negativePrompt 13 characters: test\/video takes at most 10 characters\./],
    [{ resolution: "9k" }, /^test\/video has no resolution \(sent: 9k\)\. Models that take it: test\/other\.$/],
    // Without the value: Postgres logs refusals.
    [{ resolution: "x".repeat(100_000) }, /^test\/video has no resolution \(sent: 100000 characters\)\./],
    [{ audio: true }, /^test\/video has no audio \(sent: true\)\. Models that take it: /],
  ])("%o → unsupported_input", async (input, sentence) => {
    const refused = await refusalOf(start(db, world, { step: "video", model: "test/video", input }));
    expect(refused).toMatchObject({ message: "unsupported_input", detail: expect.stringMatching(sentence) });
    expect(await db.sql`select from keyframe.predictions`).toHaveLength(1);
  });

  test("no sound from a model that makes none → accepted", async () => {
    expect(await video({ audio: false })).not.toHaveProperty("audio");
  });

  test("a field that no model has, an input that is not an object, a value of no use to any model → invalid_request", async () => {
    const others = await addReference(db, (await addWorld(db)).owner);
    for (const input of [
      ...['{"fps": 24}', "[]", '"x"', "null", '{"referenceImagePaths": "projects/a.png"}'],
      // The model's own names of images: they would reach the provider as they are.
      ...['{"firstFrame": "https://example.com/a.png"}', '{"lastFrame": "x"}', '{"referenceImages": 3}'],
      // Every element is an image whose owner is checked.
      ...[`{"referenceImagePaths": [null, "${others}"]}`, '{"referenceImagePaths": [null]}'],
      ...['{"aspectRatio": "0:1"}', '{"aspectRatio": "16:9:1"}', '{"aspectRatio": "1.6e1:9"}', '{"aspectRatio": 1}'],
    ]) {
      for (const step of ["first-frame", "video"]) {
        const row = db.sql`(${world.project}::uuid, ${step}::keyframe.generation_step, ${input}::text::jsonb)`;
        const insert = db.asUser(
          world.owner,
          (sql) => sql`insert into keyframe.predictions (project_id, step, input) values ${row}`,
        );
        expect(await codeOf(insert), `${step} ${input}`).toBe("invalid_request");
      }
    }
  });

  test("an image or a length that the model does not use, given or by default → refused", async () => {
    const reference = await addReference(db, world.owner);
    const { id: last } = await seedPrediction(db.sql, world, { step: "last-frame", status: "succeeded" });
    const oneImage = "black-forest-labs/flux-kontext-pro";
    for (const wanted of [
      { step: "video", model: "kwaivgi/kling-v2.1", reference },
      { step: "video", model: "minimax/hailuo-2.3" }, // has no last frame, which is taken by default
      { step: "video", model: "minimax/hailuo-2.3", lastFrame: last },
      { step: "last-frame", model: oneImage, reference }, // has its first frame already
      { step: "last-frame", lastFrame: last },
      { lastFrame: last },
      { duration: 5 },
    ]) {
      expect([wanted, await codeOf(start(db, world, wanted))]).toEqual([wanted, "unsupported_input"]);
    }
    await db.sql`delete from keyframe.predictions`;
    await start(db, world, { step: "last-frame", model: oneImage, reference });
  });

  test("more reference images than the model takes → refused, with both numbers", async () => {
    const paths = await Promise.all(Array.from({ length: 11 }, () => addReference(db, world.owner)));
    const eleven = { step: "first-frame", model: "google/nano-banana" };
    expect(await refusal({ referenceImagePaths: paths }, eleven)).toMatch(
      /^google\/nano-banana takes 10 reference images, and 11 would be sent\./,
    );
  });
});

describe("a video without a first frame: firstFramePredictionId null", () => {
  const NONE = { firstFramePredictionId: null, lastFramePredictionId: null };
  const IMAGES = { field: "images", list: true, max: 3 };
  const ratio = { aspectRatio: { field: "ratio", values: ["16:9", "9:16"], omitWith: ["firstFrame"] } };

  test("a video without a first frame in a project that has one → made from text, in the project's ratio", async () => {
    await addModel("test/video", ratio);
    await db.sql`update keyframe.projects set aspect_ratio = '9:16' where id = ${world.project}`;
    const input = await video(NONE);
    expect(input).toMatchObject({ ...NONE, aspectRatio: "9:16", referenceImagePaths: [] });
    expect(await video(input)).toEqual(input); // sent again as it was read
    await db.sql`update keyframe.projects set aspect_ratio = '16:9' where id = ${world.project}`;
    expect((await video({})).firstFramePredictionId).not.toBeNull();
  });

  test("a video without a first frame, of a project that has none → made; field left out → frame_not_ready, which says how", async () => {
    await addModel("test/video", ratio);
    await db.sql`delete from keyframe.predictions`;
    expect(await video(NONE)).toMatchObject(NONE);
    const { message, detail } = await refusalOf(start(db, world, { step: "video", model: "test/video" }));
    expect([message, detail]).toEqual(["frame_not_ready", expect.stringContaining("send firstFramePredictionId null")]);
  });

  test("a video without a first frame, by a model that needs one or has another ratio → refused, with the models that can", async () => {
    await db.sql`update keyframe.models set enabled = false where step = 'video' and model <> 'kwaivgi/kling-v3-omni-video'`;
    await addModel("test/text", ratio, 1);
    await addModel("test/video", { ...ratio, firstFrame: { field: "image", required: true } });
    expect(await refusal(NONE)).toBe(
      "test/video needs a firstFrame. Models that take it: test/text, kwaivgi/kling-v3-omni-video.",
    );
    await db.sql`update keyframe.models set controls = ${db.sql.json({ prompt: { field: "prompt" }, firstFrame: { field: "image" } })} where model = 'test/video'`;
    expect(await refusal(NONE)).toMatch(
      /^test\/video needs a firstFrame: it has no aspectRatio \(sent: 16:9\)\. Models that take it: test\/text, /,
    );
    expect(await refusal({ ...NONE, aspectRatio: "21:9" })).toMatch(/ No other model of this step takes it\.$/);
    await db.sql`update keyframe.models set enabled = true where step = 'video'`;
  });

  test("a model without a first frame → makes a video when the start leaves it out, and refuses the project's", async () => {
    await addModel("test/video", { aspectRatio: { field: "ratio", values: ["16:9"] }, firstFrame: undefined });
    expect(await video(NONE)).toMatchObject(NONE);
    expect(await refusal({})).toMatch(/^test\/video takes no firstFrame\./);
  });

  test("a last frame alone → accepted by a model whose last frame needs no first one, in the ratio of the frame", async () => {
    await addModel("test/video", { lastFrame: { field: "end" } });
    const { id } = await seedPrediction(db.sql, world, { step: "last-frame", status: "succeeded" });
    const input = { firstFramePredictionId: null };
    const { prediction } = await start(db, world, { step: "video", model: "test/video", input });
    expect(prediction.input).toMatchObject({ firstFramePredictionId: null, lastFramePredictionId: id });
    const images = await db.sql`
      select role, source_prediction_id as id from keyframe_private.prediction_images where prediction_id = ${prediction.id}`;
    expect(images).toEqual([{ role: "last_frame", id }]);
    expect(await refusal(input, { model: null })).toMatch(
      /^kwaivgi\/kling-v3-omni-video takes lastFrame only together with firstFrame \(lastFramePredictionId null: no frame\)\. Models that take it: /,
    );
  });

  test("references that exclude frames → refused with the project's frame, saying how to leave it out; accepted without it", async () => {
    const rules = { excludes: ["firstFrame"], forces: { aspectRatio: "16:9" } };
    await addModel("test/video", { ...ratio, referenceImages: { ...IMAGES, ...rules } });
    const reference = await addReference(db, world.owner);
    expect(await refusal({}, { reference })).toMatch(
      /^test\/video takes either referenceImages or firstFrame: .* \(firstFramePredictionId null: no frame\)\. Models that take it: kwaivgi\/kling-v3-omni-video\.$/,
    );
    expect(await video(NONE, { reference })).toMatchObject({ ...NONE, referenceImagePaths: [reference] });
    expect(await refusal({ ...NONE, aspectRatio: "9:16" }, { reference })).toMatch(
      /^test\/video with referenceImages takes aspectRatio 16:9 only, not 9:16\./,
    );
  });

  test("a model whose limit of references counts frames → a start with fewer frames can have more references", async () => {
    await addModel("test/video", { ...ratio, referenceImages: { ...IMAGES, countsFrames: true } });
    const referenceImagePaths = await Promise.all([1, 2, 3].map(() => addReference(db, world.owner)));
    expect(await video({ ...NONE, referenceImagePaths })).toMatchObject({ referenceImagePaths });
    expect(await refusal({ referenceImagePaths })).toMatch(
      /^test\/video takes 3 reference images, and 4 would be sent \(1 of them frames\)\./,
    );
    expect(await video({ referenceImagePaths: referenceImagePaths.slice(1) })).toHaveProperty("referenceImagePaths.1");
  });
});

test("a start that names a model → made by that model; one not of the step, unknown or not enabled → refused", async () => {
  await addModel("test/video", {});
  const { prediction } = await start(db, world, { step: "video", model: "test/video" });
  expect(prediction).toMatchObject({ model: "test/video", requested_model: null });
  await db.sql`update keyframe.models set enabled = false where model = 'test/video'`;
  for (const model of ["test/video", "google/nano-banana", "nobody/nothing"])
    expect(await codeOf(start(db, world, { step: "video", model })), model).toBe("unsupported_input");
});

describe("the aspect ratio", () => {
  const ofSize = (output_width: number, output_height: number, step: Step = "first-frame") =>
    seedPrediction(db.sql, world, { step, status: "succeeded", columns: { output_width, output_height } });
  beforeEach(() =>
    addModel("test/video", {
      lastFrame: { field: "end" },
      aspectRatio: { field: "ratio", values: ["16:9", "9:16"], omitWith: ["lastFrame"] },
    }),
  );

  test("the aspect ratio of a project → is that of its steps, unless a start names another", async () => {
    await db.sql`update keyframe.projects set aspect_ratio = '9:16' where id = ${world.project}`;
    const frame = async (input = {}) => (await start(db, world, { input })).prediction.input;
    expect(await frame()).toMatchObject({ aspectRatio: "9:16" });
    expect(await frame({ aspectRatio: "1:1" })).toMatchObject({ aspectRatio: "1:1" });
    await ofSize(720, 1280);
    expect(await video({})).toMatchObject({ aspectRatio: "9:16" });
  });

  test("a frame of another aspect ratio → refused with its size and both ways out; one that a model has rounded → accepted", async () => {
    const { id } = await ofSize(720, 1280);
    expect(await refusal({})).toBe(
      `The frame ${id} has 720 × 1280 pixels, and the aspect ratio is 16:9. Generate the frame in 16:9, choose another, or send the aspectRatio of the frame.`,
    );
    for (const [width, height] of [
      [1344, 768],
      [1392, 752],
      [1360, 768],
    ] as const) {
      await ofSize(width, height);
      expect(await video({})).toMatchObject({ aspectRatio: "16:9" });
    }
    await ofSize(1024, 768);
    expect(await refusal({})).toMatch(/1024 × 768/);
  });

  test("an aspect ratio for an image model without that choice → refused: the image would have another ratio", async () => {
    await db.sql`
      insert into keyframe.models (step, model, label, vendor, controls)
      values ('first-frame', 'test/image', 'Image', 'Test', '{"prompt": {"field": "prompt"}}')`;
    const image = (input: object) => start(db, world, { model: "test/image", input: { ...input } });
    expect((await image({})).prediction.input).not.toHaveProperty("aspectRatio");
    expect((await refusalOf(image({ aspectRatio: "9:16" }))).detail).toMatch(
      /^test\/image has no aspectRatio \(sent: 9:16\)\./,
    );
  });

  test("an aspect ratio that the model does not make → refused, unless the model follows the frame", async () => {
    await ofSize(1000, 1000);
    expect(await refusal({ aspectRatio: "1:1" })).toMatch(/^aspectRatio 1:1: test\/video takes 16:9, 9:16\./);
    await ofSize(500, 500, "last-frame");
    expect(await video({ aspectRatio: "1:1" })).toMatchObject({ aspectRatio: "1:1" });
  });
});
