import { beforeAll, describe, expect, test } from "vitest";
import type { Step } from "../../shared/contract/fields.ts";
import { type ModelList, modelList } from "../../shared/contract/controls.ts";
import { dataOf } from "../support/api/envelope.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { signUp, type User } from "../support/api/user.ts";
import { drawImage } from "../support/media/images.ts";

// How a start reaches Postgres, and what comes back. What Postgres decides: test/db/predictions/inputs.test.ts.

type Model = ModelList["steps"][number]["models"][number];

let user: User;
let models: Record<string, Model[]>;
let projectId: string;
beforeAll(async () => {
  user = await signUp();
  const { steps } = modelList.strict().parse(dataOf(await user.call("/api/models"), 200));
  models = Object.fromEntries(steps.map((one) => [one.step, one.models]));
  projectId = await user.createProject();
  await user.finish(await user.start("first-frame", { projectId }));
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
  test("GET /api/models → names for each step the default that a start uses, in order, without the provider's fields", async () => {
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
    "a start of %s with all that its model takes → the answer has it; its input, sent again, starts the same request",
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
});

describe("a video without frames", () => {
  const NONE = { firstFramePredictionId: null, lastFramePredictionId: null };

  test("GET /api/models → says whether each model makes videos without frames; a refused start names those that do", async () => {
    const referenceImagePaths = [await user.upload(await drawImage())];
    const able = (model: Model, ...images: string[]) =>
      model.controls.firstFrame?.required !== true &&
      model.controls.aspectRatio?.values?.includes("16:9") === true &&
      images.every((name) => name in model.controls);
    const refusal = async (body: object) =>
      (await user.post("/api/projects/generate/video", { projectId, ...NONE, ...body })).error?.message;
    const names = (list: Model[] = []) => list.map(({ model }) => model).join(", ");
    const ofText = names(models.video?.filter((one) => able(one)));
    expect(await refusal({ model: "kwaivgi/kling-v2.1" })).toBe(
      `kwaivgi/kling-v2.1 needs a firstFrame: it has no aspectRatio (sent: 16:9). Models that take it: ${ofText}.`,
    );
    const ofReferences = names(models.video?.filter((one) => able(one, "referenceImages")));
    expect(ofReferences.split(", ")).toHaveLength(5);
    expect(await refusal({ model: "pixverse/pixverse-v6", referenceImagePaths })).toBe(
      `pixverse/pixverse-v6 takes 0 reference images, and 1 would be sent. Models that take it: ${ofReferences}.`,
    );
  });
});
