import { expect, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { drawImage } from "../support/media/images.ts";
import { deleteProject, listProjects, readProject } from "../support/api/projects.ts";
import { useUser } from "../support/api/user.ts";
import { until } from "../support/until.ts";

const sql = openDatabase();
const user = useUser();

const stored = async (files: string[]) =>
  (
    await sql<{ file: string }[]>`
      select bucket_id || '/' || name as file from storage.objects
      where bucket_id || '/' || name = any(${files}::text[]) order by 1`
  ).map(({ file }) => file);

test("DELETE of a project → 200 with the deleted project; then 404 everywhere, and its predictions and files are deleted", async () => {
  const projectId = await user.createProject();
  const other = await user.createProject();
  const reference = await user.upload(await drawImage());
  const frame = await user.finish(await user.start("first-frame", { projectId, referenceImagePath: reference }));
  const url = frame.output?.url ?? "";
  const files = [`keyframe-outputs/${frame.output?.path}`, `projects/${reference.slice("projects/".length)}`].sort();
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
