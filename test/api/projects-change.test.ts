import { beforeAll, expect, test } from "vitest";
import { footprint, openDatabase } from "../support/api/database.ts";
import { changeProject, readProject } from "../support/api/projects.ts";
import { providerRuns, uniquePrompt } from "../support/api/provider.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp, type User } from "../support/api/user.ts";

const sql = openDatabase();
let user: User;
beforeAll(async () => {
  user = await signUp();
});

const FIELDS = { title: "Harbour", textPrompt: "A harbour at dawn", description: "Fog" };

test.each([
  ["title", { title: "Lighthouse" }],
  ["textPrompt", { textPrompt: "A lighthouse, 🌊" }],
  ["description", { description: "Storm" }],
  ["description, to nothing", { description: "" }],
  ["all three", { title: "t".repeat(200), textPrompt: "p".repeat(4000), description: "d".repeat(4000) }],
])("PATCH %s → 200 with that changed and the rest as it was; updatedAt moves", async (_what, change) => {
  const projectId = await user.createProject(FIELDS);
  const { predictions: _, ...before } = await readProject(user, projectId);
  const changed = await changeProject(user, projectId, change);
  expect(changed).toEqual({ ...before, ...change, updatedAt: changed.updatedAt });
  expect(changed.updatedAt > before.updatedAt).toBe(true);
  expect(await readProject(user, projectId)).toMatchObject(changed);
});

test.each<[what: string, change: unknown, field: string]>([
  ["nothing", {}, ""],
  ["an unknown field", { title: "a", owner: "me" }, "owner"],
  ["a field that is the service's", { createdAt: "2020-01-01T00:00:00Z" }, "createdAt"],
  ["an empty title", { title: "" }, "title"],
  ["a title of 201 characters", { title: "🚤".repeat(201) }, "title"],
  ["an empty prompt", { textPrompt: "" }, "textPrompt"],
  ["a prompt of 4001 characters", { textPrompt: "p".repeat(4001) }, "textPrompt"],
  ["a description of 4001 characters", { description: "d".repeat(4001) }, "description"],
  ["a reference image of another shape", { referenceImagePath: "keyframe-outputs/a.png" }, "referenceImagePath"],
  ["a selected video", { selected: { video: crypto.randomUUID() } }, "selected.video"],
  ["a selected frame that is no identifier", { selected: { "first-frame": "latest" } }, "selected.first-frame"],
  ["null", { title: null }, "title"],
  ["a number", { title: 7 }, "title"],
  ["a list", [], ""],
])("PATCH %s → 400 that names the field, and nothing has changed", async (_what, json, field) => {
  const projectId = await user.createProject(FIELDS);
  const before = [await readProject(user, projectId), await footprint(sql, user.id)];
  const { status, error } = await user.call(`/api/projects/${projectId}`, { method: "PATCH", json });
  expect([status, error?.code]).toEqual([400, "invalid_request"]);
  expect(error?.details?.map(({ path }) => path)).toContain(field);
  const after = await footprint(sql, user.id);
  expect([await readProject(user, projectId), after]).toEqual(before);
});

test("PATCH without a body, as text, as broken JSON → 400, 415, 400", async () => {
  const projectId = await user.createProject();
  const change = async (options: { body?: string; headers?: Record<string, string> }) =>
    (await user.call(`/api/projects/${projectId}`, { method: "PATCH", ...options })).error?.code;
  const json = { "content-type": "application/json" };
  expect(await change({ headers: json })).toBe("invalid_json");
  expect(await change({ body: '{"title":"a"}', headers: { "content-type": "text/plain" } })).toBe(
    "unsupported_media_type",
  );
  expect(await change({ body: '{"title":', headers: json })).toBe("invalid_json");
});

test("PATCH of the prompt while a prediction runs → that one keeps its prompt; the next one takes the new one", async () => {
  const [old, next] = [uniquePrompt("[[fault:callback_lost]]"), uniquePrompt("[[fault:failed]]")];
  const projectId = await user.createProject({ textPrompt: old });
  const { predictionId } = await startStuck(sql, user, "first-frame", projectId);
  const waiting = await user.start("first-frame", { projectId });
  await changeProject(user, projectId, { textPrompt: next });
  const [row] = await sql<{ prompt: string }[]>`select prompt from keyframe.predictions where id = ${predictionId}`;
  expect(row?.prompt).toContain("[[fault:callback_lost]]");
  const started = await user.start("first-frame", { projectId });
  await user.finish(started);
  const [kept] = await sql`select prompt from keyframe.predictions where id = ${waiting.predictionId}`;
  expect(kept).toEqual({ prompt: old });
  expect(await providerRuns(next)).toHaveLength(1);
});

test("30 changes at once → each answer has its own, and the last one stays", async () => {
  const projectId = await user.createProject();
  const titles = Array.from({ length: 30 }, (_, number) => `take ${number}`);
  const told = await Promise.all(titles.map((title) => changeProject(user, projectId, { title })));
  expect(told.map(({ title }) => title)).toEqual(titles);
  const latest = told.reduce((one, other) => (other.updatedAt > one.updatedAt ? other : one));
  const left = await readProject(user, projectId);
  expect(titles).toContain(left.title);
  expect(left.updatedAt >= latest.updatedAt).toBe(true);
});
