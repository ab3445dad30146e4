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
