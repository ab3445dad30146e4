import { beforeAll, expect, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { walkPages } from "../support/api/pages.ts";
import { listProjects, listProjectsWithPredictions, readProject } from "../support/api/projects.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { signUp, type User } from "../support/api/user.ts";
import { download } from "../support/film/ending.ts";

const sql = openDatabase();
let user: User;
/** Newest first. */
let made: string[];
beforeAll(async () => {
  user = await signUp();
  made = [];
  for (const title of ["first", "second", "third"]) made.unshift(await user.createProject({ title }));
});

const idsOf = (projects: { projectId: string }[]) => projects.map(({ projectId }) => projectId);
const readPage = (by: User, limit: number) => async (query: Record<string, string>) => {
  const { projects, nextCursor } = await listProjects(by, { ...query, limit: String(limit) });
  return { ids: idsOf(projects), nextCursor };
};

test("GET /api/projects → 200 with the caller's own, newest first, each as in the answer to its creation; nothing after them", async () => {
  const { projects, nextCursor } = await listProjects(user);
  expect([idsOf(projects), nextCursor]).toEqual([made, null]);
  expect(projects.map(({ title }) => title)).toEqual(["third", "second", "first"]);
  const { predictions: _, ...alone } = await readProject(user, made[0] ?? "");
  expect(projects[0]).toEqual(alone);
});

test("of a user without projects → an empty page", async () => {
  expect(await listProjects(await signUp())).toEqual({ projects: [], nextCursor: null });
});

test.each([
  [1, [1, 1, 1]],
  [2, [2, 1]],
  [3, [3]],
  [4, [3]],
  [100, [3]],
])("pages of %i → %j projects on them, and the last one names no next", async (limit, sizes) => {
  const pages = await walkPages(readPage(user, limit));
  expect(pages.map(({ length }) => length)).toEqual(sizes);
  expect(pages.flat()).toEqual(made);
});

test("without a limit → 20", async () => {
  const busy = await signUp();
  await sql`
    insert into keyframe.projects (owner_id, title, text_prompt) select ${busy.id}, 't', 'p' from generate_series(1, 21)`;
  const { projects, nextCursor } = await listProjects(busy);
  expect([projects.length, typeof nextCursor]).toEqual([20, "string"]);
});

test("another user's cursor → a position in time, and only the caller's projects", async () => {
  const other = await signUp();
  const own = await other.createProject();
  await other.createProject();
  const { nextCursor } = await listProjects(other, { limit: "1" });
  const { projects } = await listProjects(user, { cursor: nextCursor ?? "" });
  expect(idsOf(projects)).toEqual(made);
  expect(idsOf(projects)).not.toContain(own);
});

test("include=predictions → each project with the latest of each step, outputs signed and there to download", async () => {
  const maker = await signUp();
  const bare = await maker.createProject();
  const full = await maker.createProject();
  const frame = await maker.finish(await maker.start("first-frame", { projectId: full }));
  const failing = { projectId: full, prompt: uniquePrompt("[[fault:failed]]") };
  const failed = await maker.finish(await maker.start("last-frame", failing));
  const page = await listProjectsWithPredictions(maker);
  expect(idsOf(page.projects)).toEqual([full, bare]);
  const [first, second] = page.projects;
  expect(second?.predictions).toEqual({ "first-frame": null, "last-frame": null, video: null });
  expect(first?.predictions["last-frame"]).toEqual(failed);
  expect(first?.predictions.video).toBeNull();
  const listed = first?.predictions["first-frame"];
  expect(listed).toMatchObject({ predictionId: frame.predictionId, status: "succeeded" });
  if (listed) await download(listed);
});

test("GET ?search → the projects with this in their title, in any case, page by page", async () => {
  const searcher = await signUp();
  for (const title of ["Harbour, dawn", "Quay", "The HARBOUR at night"]) await searcher.createProject({ title });
  const titles = async (query: Record<string, string>) =>
    (await listProjects(searcher, query)).projects.map((one) => one.title);
  expect(await titles({ search: "harbour" })).toEqual(["The HARBOUR at night", "Harbour, dawn"]);
  expect(await titles({ search: "lighthouse" })).toEqual([]);
  const { nextCursor } = await listProjects(searcher, { search: "harbour", limit: "1" });
  expect(await titles({ search: "harbour", limit: "1", cursor: nextCursor ?? "" })).toEqual(["Harbour, dawn"]);
  expect((await searcher.call("/api/projects?search=")).error?.details?.[0]?.path).toBe("search");
});
