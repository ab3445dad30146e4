import { expect, test } from "vitest";
import { footprint, openDatabase } from "../support/api/database.ts";
import { drawImage } from "../support/media/images.ts";
import { deleteProject, listProjects, readProject } from "../support/api/projects.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp, type User, useUser } from "../support/api/user.ts";
import { until } from "../support/until.ts";

const sql = openDatabase();
const user = useUser();

/** What Storage still has of these, by bucket and name. */
const stored = async (files: string[]) =>
  (
    await sql<{ file: string }[]>`
      select bucket_id || '/' || name as file from storage.objects
      where bucket_id || '/' || name = any(${files}::text[]) order by 1`
  ).map(({ file }) => file);

const remove = (by: User, projectId: string) => by.call(`/api/projects/${projectId}`, { method: "DELETE" });

/** A first frame from a reference image, and the names of the two files. */
async function makeFrame(projectId: string, referenceImagePath: string) {
  const frame = await user.finish(await user.start("first-frame", { projectId, referenceImagePath }));
  expect(frame.status).toBe("succeeded");
  return { frame, file: `keyframe-outputs/${frame.output?.path}` };
}

test("DELETE → 200 with the project that is gone; then 404 everywhere, its predictions gone, its files out of Storage", async () => {
  const projectId = await user.createProject();
  const other = await user.createProject();
  const reference = await user.upload(await drawImage());
  const { frame, file } = await makeFrame(projectId, reference);
  const url = frame.output?.url ?? "";
  const files = [file, `projects/${reference.slice("projects/".length)}`].sort();
  expect(await stored(files)).toEqual(files);
  const { predictions: _, takes: __, ...before } = await readProject(user, projectId);

  expect(await deleteProject(user, projectId)).toEqual(before);

  const { predictionId } = frame;
  const status = new URLSearchParams({ projectId, predictionId });
  for (const [method, path, json] of [
    ["GET", `/api/projects/${projectId}`, undefined],
    ["PATCH", `/api/projects/${projectId}`, { title: "a" }],
    ["DELETE", `/api/projects/${projectId}`, undefined],
    ["GET", `/api/projects/${projectId}/predictions`, undefined],
    ["GET", `/api/projects/generate/first-frame?${status}`, undefined],
    ["POST", "/api/projects/generate/first-frame", { projectId }],
    ["POST", "/api/projects/generate/video", { projectId }],
    ["POST", "/api/projects/generate/cancel", { projectId, predictionId }],
  ] as const) {
    const reply = await user.call(path, { method, ...(json === undefined ? {} : { json }) });
    expect([method, path, reply.status, reply.error?.code]).toEqual([method, path, 404, "not_found"]);
  }
  expect((await listProjects(user)).projects.map((one) => one.projectId)).toEqual([other]);
  expect(await sql`select from keyframe.predictions where project_id = ${projectId}`).toEqual([]);
  await until("both files to be gone", async () => (await stored(files)).length === 0);
  expect((await fetch(url)).ok).toBe(false);
});

test("a reference image that another project uses too → stays until that one goes", async () => {
  const [one, other] = [await user.createProject(), await user.createProject()];
  const reference = await user.upload(await drawImage());
  const shared = `projects/${reference.slice("projects/".length)}`;
  const [first, second] = await Promise.all([makeFrame(one, reference), makeFrame(other, reference)]);
  await deleteProject(user, one);
  await until("the output of the first to be gone", async () => (await stored([first.file])).length === 0);
  expect(await stored([shared, second.file])).toEqual([second.file, shared].sort());
  expect((await user.start("last-frame", { projectId: other, referenceImagePath: reference })).status).toBe("queued");
  await user.finish(await user.read("last-frame", other));
  await deleteProject(user, other);
  await until("all to be gone", async () => (await stored([shared, second.file])).length === 0);
});

test("DELETE while a generation runs → 409 generation_in_progress and nothing has changed; after its cancel → 200", async () => {
  const projectId = await user.createProject();
  const { predictionId } = await startStuck(sql, user, "first-frame", projectId);
  const before = await footprint(sql, user.id);
  const refused = await remove(user, projectId);
  expect([refused.status, refused.error?.code]).toEqual([409, "generation_in_progress"]);
  expect(refused.error?.message).toContain("Cancel it or wait");
  expect(await footprint(sql, user.id)).toEqual(before);
  expect((await user.post("/api/projects/generate/cancel", { projectId, predictionId })).status).toBe(200);
  expect((await deleteProject(user, projectId)).projectId).toBe(projectId);
});

test("DELETE while one waits in line → 409 too; what runs in another project is no matter", async () => {
  const busy = await signUp();
  const running = await busy.createProject();
  await Promise.all(Array.from({ length: 4 }, () => startStuck(sql, busy, "first-frame", running)));
  const [waiting, empty] = [await busy.createProject(), await busy.createProject()];
  expect((await busy.start("first-frame", { projectId: waiting })).queuePosition).toBe(1);
  expect((await remove(busy, waiting)).error?.code).toBe("generation_in_progress");
  expect((await remove(busy, empty)).status).toBe(200);
});

test("20 deletions at once → one 200, the others 404", async () => {
  const projectId = await user.createProject();
  const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await remove(user, projectId)).status));
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  expect(statuses.filter((status) => status === 404)).toHaveLength(19);
});

test("a deletion and starts at the same time → either the project is gone and they found none, or they run and it stays", async () => {
  for (const _ of ["once", "twice", "three times"]) {
    const projectId = await user.createProject();
    const body = { projectId, prompt: "[[fault:rejected]]" };
    const starts = ["first-frame", "last-frame"].map((step) => user.post(`/api/projects/generate/${step}`, body));
    const [deletion, ...started] = await Promise.all([remove(user, projectId), ...starts]);
    const left = (await sql`select from keyframe.predictions where project_id = ${projectId}`).length;
    expect([200, 409]).toContain(deletion.status);
    for (const { status } of started) expect([202, 404]).toContain(status);
    if (deletion.status === 200) expect(left).toBe(0);
    else expect(left).toBe(started.filter(({ status }) => status === 202).length);
  }
});
