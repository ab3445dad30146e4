import { beforeAll, expect, test } from "vitest";
import { readProject } from "../support/api/projects.ts";
import { signUp, type User } from "../support/api/user.ts";

let user: User;
beforeAll(async () => {
  user = await signUp();
});

const patch = (projectId: string, json: object, ifMatch?: string) =>
  user.call(`/api/projects/${projectId}`, {
    method: "PATCH",
    json,
    ...(ifMatch === undefined ? {} : { headers: { "if-match": ifMatch } }),
  });
const tagOf = async (projectId: string) => (await user.call(`/api/projects/${projectId}`)).headers.get("etag") ?? "";

test("POST, GET and PATCH → the project's ETag, its updatedAt in quotes; a change moves it", async () => {
  const created = await user.post("/api/projects", { title: "Harbour", textPrompt: "Dawn" });
  const { projectId, updatedAt } = Object(created.data);
  expect(created.headers.get("etag")).toBe(`"${updatedAt}"`);
  expect(await tagOf(projectId)).toBe(`"${updatedAt}"`);
  const changed = await patch(projectId, { title: "Quay" });
  expect(changed.headers.get("etag")).not.toBe(`"${updatedAt}"`);
  expect(await tagOf(projectId)).toBe(changed.headers.get("etag"));
});

test("PATCH of two tabs that read the same project → the first 200, the second 412 precondition_failed, and its text is not saved", async () => {
  const projectId = await user.createProject();
  const tag = await tagOf(projectId);
  expect((await patch(projectId, { textPrompt: "first" }, tag)).status).toBe(200);
  const { status, error } = await patch(projectId, { textPrompt: "second" }, tag);
  expect([status, error?.code]).toEqual([412, "precondition_failed"]);
  expect(error?.message).toContain("Read it again");
  expect((await readProject(user, projectId)).textPrompt).toBe("first");
  expect((await patch(projectId, { textPrompt: "second" }, await tagOf(projectId))).status).toBe(200);
});

test("the same PATCH again with the old ETag, because its answer was lost → 200", async () => {
  const projectId = await user.createProject();
  const tag = await tagOf(projectId);
  for (const _ of ["sent", "sent again"]) {
    expect((await patch(projectId, { title: "Quay" }, tag)).status).toBe(200);
  }
});

test.each([
  ["no If-Match", undefined, 200],
  ["If-Match: *", "*", 200],
  ["the ETag among others, and made weak by a proxy", (tag: string) => `"abc", W/${tag}`, 200],
  ["a tag of something else", '"abc"', 412],
  ["a tag that looks like ours", '"2026-13-45T99:99:99.999Z"', 412],
  ["no tag at all", "abc", 412],
])("PATCH with %s → %s", async (_what, ifMatch, status) => {
  const projectId = await user.createProject();
  const given = typeof ifMatch === "function" ? ifMatch(await tagOf(projectId)) : ifMatch;
  expect((await patch(projectId, { title: "Quay" }, given)).status).toBe(status);
});

test("PATCH of somebody else's project with its ETag → 404, as without", async () => {
  const projectId = await user.createProject();
  const tag = await tagOf(projectId);
  const stranger = await signUp();
  const reply = await stranger.call(`/api/projects/${projectId}`, {
    method: "PATCH",
    json: { title: "Mine" },
    headers: { "if-match": tag },
  });
  expect([reply.status, reply.error?.code]).toEqual([404, "not_found"]);
});
