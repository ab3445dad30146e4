import { describe, expect, test } from "vitest";
import { prediction } from "../../shared/contract/predictions.ts";
import { openDatabase } from "../support/api/database.ts";
import { changeProject, listPredictions, listProjectsWithPredictions, readProject } from "../support/api/projects.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { startStuck } from "../support/api/stuck.ts";
import { dataOf } from "../support/api/envelope.ts";
import { signUp, useUser } from "../support/api/user.ts";
import { until } from "../support/until.ts";
import { download } from "../support/film/ending.ts";
import { drawImage } from "../support/media/images.ts";

const sql = openDatabase();
const user = useUser();

const FIELDS = { title: "Harbour", textPrompt: "Fog, 🚤", description: "As in the reference", aspectRatio: "1:1" };
const NONE_OF_EACH_STEP = { "first-frame": null, "last-frame": null, video: null };
const fails = () => uniquePrompt("[[fault:failed]]");

describe("reading", () => {
  test("GET of a new project, also by its id in capitals → 200 with what it was made from, and null for each step", async () => {
    const projectId = await user.createProject(FIELDS);
    const { createdAt, updatedAt, ...rest } = await readProject(user, projectId.toUpperCase());
    expect(rest).toEqual({
      projectId,
      ...FIELDS,
      referenceImagePath: null,
      filmId: null,
      elementIds: null,
      plan: {},
      selected: NONE_OF_EACH_STEP,
      predictions: NONE_OF_EACH_STEP,
      takes: NONE_OF_EACH_STEP,
    });
    expect(updatedAt).toBe(createdAt);
    expect(Math.abs(Date.now() - Date.parse(createdAt))).toBeLessThan(60_000);
  });

  test("GET of a project whose steps run, and of the list with include=predictions → the latest prediction of each step", async () => {
    const maker = await signUp();
    const [bare, projectId] = [await maker.createProject(), await maker.createProject()];
    await maker.finish(await maker.start("first-frame", { projectId }));
    const newer = await maker.finish(await maker.start("first-frame", { projectId, prompt: uniquePrompt() }));
    const failed = await maker.finish(await maker.start("last-frame", { projectId, prompt: fails() }));
    const video = await startStuck(sql, maker, "video", projectId);
    const { projects } = await listProjectsWithPredictions(maker);
    expect(projects.map((one) => one.projectId)).toEqual([projectId, bare]);
    expect(projects[1]?.predictions).toEqual(NONE_OF_EACH_STEP);
    for (const { predictions } of [await readProject(maker, projectId), projects[0]].filter(
      (one) => one !== undefined,
    )) {
      expect(predictions["first-frame"]).toMatchObject({ predictionId: newer.predictionId, status: "succeeded" });
      if (predictions["first-frame"]) await download(predictions["first-frame"]);
      expect(predictions["last-frame"]).toEqual(failed);
      expect(predictions.video).toMatchObject({ predictionId: video.predictionId, output: null, completedAt: null });
    }
    await maker.post("/api/projects/generate/cancel", { projectId, predictionId: video.predictionId });
    expect((await readProject(maker, projectId)).predictions.video).toMatchObject({ status: "canceled", output: null });
  });

  test("a repeated step fails, or a frame is selected → takes keep what succeeded, predictions have the latest", async () => {
    const maker = await signUp();
    const projectId = await maker.createProject();
    const older = await maker.finish(await maker.start("first-frame", { projectId }));
    const newer = await maker.finish(await maker.start("first-frame", { projectId, prompt: uniquePrompt() }));
    const last = await maker.finish(await maker.start("last-frame", { projectId }));
    const failed = await maker.finish(await maker.start("last-frame", { projectId, prompt: fails() }));
    const shown = async () => {
      const alone = await readProject(maker, projectId);
      const [listed] = (await listProjectsWithPredictions(maker)).projects;
      expect(listed).toMatchObject({ predictions: alone.predictions, takes: alone.takes });
      expect(alone.predictions["last-frame"]).toEqual(failed);
      return [alone.takes["first-frame"], alone.takes["last-frame"], alone.takes.video];
    };
    expect(await shown()).toEqual([newer, last, null]);
    await changeProject(maker, projectId, { selected: { "first-frame": older.predictionId } });
    expect(await shown()).toEqual([older, { ...last, outdated: true }, null]);
  });
});

describe("changing", () => {
  test.each([
    ["title", { title: "Lighthouse" }],
    ["textPrompt", { textPrompt: "A lighthouse, 🌊" }],
    ["description, to nothing", { description: "" }],
    ["aspectRatio", { aspectRatio: "9:16" }],
    ["all three", { title: "t".repeat(200), textPrompt: "p".repeat(4000), description: "d".repeat(4000) }],
  ])(
    "PATCH of a project's %s → 200 with that changed and the rest as before; updatedAt moves",
    async (_what, change) => {
      const projectId = await user.createProject(FIELDS);
      const { predictions: _, takes: __, ...before } = await readProject(user, projectId);
      const changed = await changeProject(user, projectId, change);
      expect(changed).toEqual({ ...before, ...change, updatedAt: changed.updatedAt });
      expect(changed.updatedAt > before.updatedAt).toBe(true);
      expect(await readProject(user, projectId)).toMatchObject(changed);
    },
  );
});

describe("takes", () => {
  test("PATCH hidden of a take → out of the lists and in again; DELETE → deleted with its file, and the video keeps its input", async () => {
    const own = await user.createProject();
    const frame = await user.finish(await user.start("first-frame", { projectId: own }));
    const video = await user.finish(await user.start("video", { projectId: own }));
    await user.finish(await user.start("first-frame", { projectId: own, prompt: fails() }));
    const path = `/api/projects/${own}/predictions/${frame.predictionId}`;
    const hide = async (hidden: boolean) =>
      prediction.parse(dataOf(await user.call(path, { method: "PATCH", json: { hidden } }), 200));
    const takes = async (query = {}) =>
      (await listPredictions(user, own, { status: "succeeded", ...query })).predictions.map(
        ({ predictionId }) => predictionId,
      );
    expect(await takes()).toEqual([video.predictionId, frame.predictionId]);
    expect(await hide(true)).toMatchObject({ hidden: true, output: { path: frame.output?.path } });
    expect([await takes({ step: "first-frame" }), await takes({ hidden: "true" })]).toEqual([
      [],
      [video.predictionId, frame.predictionId],
    ]);
    expect(await hide(false)).toMatchObject({ hidden: false });
    const deleted = prediction.parse(dataOf(await user.call(path, { method: "DELETE" }), 200));
    expect(deleted).toEqual({ ...frame, output: null });
    expect(await takes()).toEqual([video.predictionId]);
    const input = { firstFramePredictionId: frame.predictionId };
    expect((await readProject(user, own)).takes).toMatchObject({
      "first-frame": null,
      video: { input, outdated: true },
    });
    await until("the removal of the file", async () => {
      const files = await sql`select from storage.objects where name = ${frame.output?.path ?? ""}`;
      return files.length === 0;
    });
    const again = await user.call(path, { method: "DELETE" });
    expect([again.status, again.error?.code]).toEqual([404, "not_found"]);
  });

  test("PATCH of a project's referenceImagePath → kept until it is null", async () => {
    const projectId = await user.createProject();
    const referenceImagePath = await user.upload(await drawImage());
    expect((await changeProject(user, projectId, { referenceImagePath })).referenceImagePath).toBe(referenceImagePath);
    expect((await readProject(user, projectId)).referenceImagePath).toBe(referenceImagePath);
    expect((await changeProject(user, projectId, { referenceImagePath: null })).referenceImagePath).toBeNull();
  });
});
