import { beforeAll, describe, expect, test } from "vitest";
import type { Step } from "../../shared/contract/fields.ts";
import { type ModelList, modelList } from "../../shared/contract/controls.ts";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { openDatabase } from "../support/api/database.ts";
import { dataOf } from "../support/api/envelope.ts";
import { changeProject, listPredictions, readProject } from "../support/api/projects.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { signUp, type User } from "../support/api/user.ts";
import { drawImage } from "../support/media/images.ts";

// How a start reaches Postgres, and what comes back. What Postgres decides: test/db/inputs.test.ts.

type Model = ModelList["steps"][number]["models"][number];

const sql = openDatabase();
let user: User;
let models: Record<string, Model[]>;
let projectId: string;
let frames: { first: Prediction; last: Prediction };
beforeAll(async () => {
  user = await signUp();
  const { steps } = modelList.strict().parse(dataOf(await user.call("/api/models"), 200));
  models = Object.fromEntries(steps.map((one) => [one.step, one.models]));
  projectId = await user.createProject();
  const make = async (step: Step) => user.finish(await user.start(step, { projectId }));
  frames = { first: await make("first-frame"), last: await make("last-frame") };
});

const fails = () => uniquePrompt("[[fault:failed]]");
const isValue = ([name]: [string, unknown]) =>
  !["prompt", "negativePrompt", "firstFrame", "lastFrame", "referenceImages", "aspectRatio"].includes(name);

/** A value that is not the default, of each control that has values or a range. */
const otherValues = ({ controls }: Model) =>
  Object.fromEntries(
    Object.entries(controls)
      .filter(isValue)
      .map(([name, { values, min, default: usual }]) => [
        name,
        values?.findLast((one) => one !== usual) ?? min ?? usual,
      ]),
  );

describe("GET /api/models", () => {
  test("→ of each step the default that a start uses, in order, and nothing of how the provider names it", async () => {
    for (const step of ["first-frame", "last-frame", "video"] as const) {
      const defaults = models[step]?.filter(({ isDefault }) => isDefault);
      const started = await user.start(step, { projectId, prompt: fails() });
      expect(defaults?.map(({ model, available }) => [model, available])).toEqual([[started.model, true]]);
    }
    expect(JSON.stringify(models)).not.toMatch(/"(field|list|omitWith|fixed)"/);
  });
});

describe("a start with all that its model takes", () => {
  test.each<Step>(["first-frame", "last-frame", "video"])(
    "%s → the answer has it; its input, sent again, is the same request for another run",
    async (step) => {
      const model = models[step]?.find(({ controls, available }) => available && controls.seed !== undefined);
      if (model === undefined) throw new Error(`No model of ${step} takes a seed.`);
      const asked: Record<string, unknown> = { ...otherValues(model), prompt: fails() };
      if (model.controls.negativePrompt) asked.negativePrompt = "people";
      if (step !== "video") asked.referenceImagePaths = [await user.upload(await drawImage())];
      const { input, ...started } = await user.start(step, { projectId, model: model.model, ...asked });
      expect(started).toMatchObject({ model: model.model, requestedModel: null });
      expect(input).toMatchObject({ ...asked, aspectRatio: "16:9" });
      expect(input.referenceImagePath).toBe(input.referenceImagePaths[0] ?? null);
      const { referenceImagePath: _, ...again } = input; // of the two names of one image, a start takes one
      expect((await user.start(step, { projectId, model: model.model, ...again })).input).toEqual(input);
    },
  );

  test("several reference images → kept in their order", async () => {
    const referenceImagePaths = [await user.upload(await drawImage()), await user.upload(await drawImage())];
    const { input } = await user.start("first-frame", { projectId, prompt: fails(), referenceImagePaths });
    expect(input).toMatchObject({ referenceImagePaths, referenceImagePath: referenceImagePaths[0] });
  });

  test("a video without the last frame that the project has: null → none", async () => {
    const start = async (more = {}) => (await user.start("video", { projectId, prompt: fails(), ...more })).input;
    expect((await start()).lastFramePredictionId).toBe(frames.last.predictionId);
    expect((await start({ lastFramePredictionId: null })).lastFramePredictionId).toBeNull();
  });
});

/** Fails unless the start is refused and starts nothing. */
async function refused(step: Step, body: object): Promise<[number, string | undefined, string]> {
  const started = async () => (await listPredictions(user, projectId, { limit: "1" })).predictions[0]?.predictionId;
  const before = await started();
  const { status, error } = await user.post(`/api/projects/generate/${step}`, { projectId, ...body });
  expect(await started()).toBe(before);
  return [status, error?.code, error?.message ?? ""];
}

describe("what the model does not take → 422 before any charge", () => {
  test.each<[what: string, step: Step, body: object, value: string]>([
    ["a length", "video", { durationSeconds: 59 }, "59"],
    ["a resolution", "first-frame", { resolution: "999p" }, "999p"],
    ["an aspect ratio", "first-frame", { aspectRatio: "32:9" }, "32:9"],
    ["a model", "video", { model: "nobody/nothing" }, "GET /api/models lists them"],
  ])("%s that there is not → named in the message", async (_what, step, body, value) => {
    expect(await refused(step, body)).toEqual([422, "unsupported_input", expect.stringContaining(value)]);
  });

  test("a seed for a model without → the message names models that take one", async () => {
    const has =
      (wanted: boolean) =>
      ({ controls, available }: Model) =>
        available && (controls.seed !== undefined) === wanted;
    const [without, other] = [models.video?.find(has(false)), models.video?.find(has(true))];
    const answer = await refused("video", { model: without?.model, seed: 7 });
    expect(answer).toEqual([422, "unsupported_input", expect.stringContaining(other?.model ?? "none")]);
  });
});

test("a model that its vendor has ended → 409 model_unavailable when it is named, and the list says so", async () => {
  const model = `ended/${crypto.randomUUID()}`;
  await sql`
    insert into keyframe.models (step, model, label, vendor, position, shutdown_at, controls)
    values ('video', ${model}, 'Ended', 'Test', 100000, '2026-01-01', '{"prompt": {"field": "prompt"}, "firstFrame": {"field": "image"}}')`;
  try {
    expect(await refused("video", { model })).toEqual([409, "model_unavailable", expect.stringContaining(model)]);
    const { steps } = modelList.parse(dataOf(await user.call("/api/models"), 200));
    const listed = steps.find(({ step }) => step === "video")?.models.find((one) => one.model === model);
    expect(listed).toMatchObject({ available: false, isDefault: false, shutdownAt: "2026-01-01T00:00:00.000Z" });
  } finally {
    await sql`delete from keyframe.models where model = ${model}`;
  }
});

describe("the aspect ratio of a project", () => {
  test("POST and PATCH → its steps use it; frames of the former one are refused for a video, with both named", async () => {
    const own = await user.createProject({ aspectRatio: "9:16" });
    const frame = await user.finish(await user.start("first-frame", { projectId: own }));
    expect(frame.input.aspectRatio).toBe("9:16");
    const { width = 0, height = 0 } = frame.output ?? {};
    expect(width / height).toBeCloseTo(9 / 16, 1);
    expect((await user.start("video", { projectId: own, prompt: fails() })).input.aspectRatio).toBe("9:16");
    expect((await changeProject(user, own, { aspectRatio: "16:9" })).aspectRatio).toBe("16:9");
    expect((await readProject(user, own)).aspectRatio).toBe("16:9");
    const [status, code, message] = await refused("video", { projectId: own });
    expect([status, code]).toEqual([422, "unsupported_input"]);
    expect([message.includes("16:9"), message.includes(String(width))]).toEqual([true, true]);
  });
});
