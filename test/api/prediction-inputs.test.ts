import { beforeAll, expect, test } from "vitest";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { drawImage } from "../support/media/images.ts";
import { changeProject, listPredictions, readProject } from "../support/api/projects.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { signUp, type User } from "../support/api/user.ts";

let user: User;
let projectId: string;
let older: Prediction;
let newer: Prediction;
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject({ textPrompt: "A harbour at dawn" });
  older = await user.finish(await user.start("first-frame", { projectId }));
  newer = await user.finish(await user.start("first-frame", { projectId }));
});

const NOTHING = {
  referenceImagePath: null,
  firstFramePredictionId: null,
  lastFramePredictionId: null,
  durationSeconds: null,
};
const fails = () => uniquePrompt("[[fault:failed]]");

test("a first frame → its input is the prompt it was made with, also after the project has another", async () => {
  const other = await user.createProject({ textPrompt: "A quay" });
  const referenceImagePath = await user.upload(await drawImage());
  const started = await user.start("first-frame", { projectId: other, referenceImagePath, prompt: fails() });
  expect(started.input).toEqual({ ...NOTHING, prompt: started.input.prompt, referenceImagePath });
  const plain = await user.start("first-frame", { projectId: other });
  await changeProject(user, other, { textPrompt: "A lighthouse" });
  expect((await user.finish(plain)).input).toEqual({ ...NOTHING, prompt: "A quay" });
});

test("a video while a newer first frame comes, and with an older one named → each says which it was made from", async () => {
  const latest = await user.start("video", { projectId, prompt: fails() });
  const named = await user.start("video", {
    projectId,
    prompt: fails(),
    durationSeconds: 5,
    firstFramePredictionId: older.predictionId,
  });
  expect(latest.input).toMatchObject({ firstFramePredictionId: newer.predictionId, durationSeconds: null });
  expect(named.input).toMatchObject({
    firstFramePredictionId: older.predictionId,
    durationSeconds: 5,
    lastFramePredictionId: null,
  });
  const listed = (await listPredictions(user, projectId, { step: "video" })).predictions;
  expect(listed.map(({ input }) => input)).toEqual([named.input, latest.input]);
  await Promise.all([user.finish(latest), user.finish(named)]);
});

test("PATCH selected → the project has it, the next video is made of it; null → the latest again", async () => {
  const selected = { "first-frame": older.predictionId };
  expect((await changeProject(user, projectId, { selected })).selected).toEqual({ ...selected, "last-frame": null });
  const { input } = await user.finish(await user.start("video", { projectId, prompt: fails() }));
  expect(input.firstFramePredictionId).toBe(older.predictionId);
  await changeProject(user, projectId, { selected: { "first-frame": null } });
  expect((await readProject(user, projectId)).selected).toEqual({ "first-frame": null, "last-frame": null });
  const again = await user.finish(await user.start("video", { projectId, prompt: fails() }));
  expect(again.input.firstFramePredictionId).toBe(newer.predictionId);
});

test("PATCH selected to a frame of another project, or that failed → 404, 409", async () => {
  const other = await user.createProject();
  const refused = async (id: string, frame: string) => {
    const json = { selected: { "first-frame": frame } };
    const { status, error } = await user.call(`/api/projects/${id}`, { method: "PATCH", json });
    return [status, error?.code];
  };
  expect(await refused(other, older.predictionId)).toEqual([404, "not_found"]);
  const failed = await user.finish(await user.start("first-frame", { projectId: other, prompt: fails() }));
  expect(await refused(other, failed.predictionId)).toEqual([409, "frame_not_ready"]);
});

test("PATCH referenceImagePath → kept with the project until null; somebody else's → 404", async () => {
  const referenceImagePath = await user.upload(await drawImage());
  expect((await changeProject(user, projectId, { referenceImagePath })).referenceImagePath).toBe(referenceImagePath);
  expect((await readProject(user, projectId)).referenceImagePath).toBe(referenceImagePath);
  expect((await changeProject(user, projectId, { referenceImagePath: null })).referenceImagePath).toBeNull();
  const foreign = await (await signUp()).upload(await drawImage());
  const reply = await user.call(`/api/projects/${projectId}`, {
    method: "PATCH",
    json: { referenceImagePath: foreign },
  });
  expect([reply.status, reply.error?.code]).toEqual([404, "not_found"]);
});
