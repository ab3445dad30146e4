import { expect, test } from "vitest";
import { changeProject, readProject } from "../support/api/projects.ts";
import { signUp } from "../support/api/user.ts";
import { dataOf, register, SILENT } from "../support/api/webhooks.ts";

// A field that is taken and then lost on its way is an error that no refusal shows.

test("an endpoint with a value of its own in each field → POST, PATCH and GET show those values", async () => {
  const user = await signUp();
  const fields = {
    url: `${SILENT}/crm`,
    description: "CRM",
    eventTypes: ["generation.failed"],
    enabled: false,
    maxInFlight: 3,
  };
  const created = await register(user, fields);
  expect(created).toMatchObject(fields);
  const path = `/api/webhooks/${created.webhookId}`;
  const json = {
    url: `${SILENT}/deals`,
    description: "Deals",
    eventTypes: ["project.created"],
    enabled: true,
    maxInFlight: 5,
  };
  expect(dataOf(await user.call(path, { method: "PATCH", json }), 200)).toMatchObject(json);
  expect(dataOf(await user.call(path), 200)).toMatchObject(json);
});

test("PATCH selected last frame → the project has it, and the next video is made of both", async () => {
  const user = await signUp();
  const projectId = await user.createProject();
  const [first, older, newer] = [
    await user.finish(await user.start("first-frame", { projectId })),
    await user.finish(await user.start("last-frame", { projectId })),
    await user.finish(await user.start("last-frame", { projectId })),
  ];
  const selected = { "last-frame": older.predictionId };
  await changeProject(user, projectId, { selected });
  expect((await readProject(user, projectId)).selected).toEqual({ "first-frame": null, ...selected });
  const { input } = await user.start("video", { projectId, prompt: "[[fault:rejected]]" });
  expect(input).toMatchObject({
    firstFramePredictionId: first.predictionId,
    lastFramePredictionId: older.predictionId,
  });
  const named = { projectId, prompt: "[[fault:rejected]]", lastFramePredictionId: newer.predictionId };
  expect((await user.start("video", named)).input.lastFramePredictionId).toBe(newer.predictionId);
});

test("recover since a time to come → nothing; since one that has passed → what was missed", async () => {
  const user = await signUp();
  const { webhookId } = await register(user, { enabled: false, eventTypes: ["project.created"] });
  await user.createProject();
  const recovered = async (ms: number) => {
    const since = new Date(Date.now() + ms).toISOString();
    return dataOf(await user.post(`/api/webhooks/${webhookId}/recover`, { since }), 202);
  };
  expect([await recovered(600_000), await recovered(-600_000)]).toEqual([{ recovered: 0 }, { recovered: 1 }]);
});
