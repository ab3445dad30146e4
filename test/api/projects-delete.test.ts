import { expect, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { drawImage } from "../support/media/images.ts";
import { deleteProject, listProjects, readProject } from "../support/api/projects.ts";
import { useUser } from "../support/api/user.ts";
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

test("DELETE → 200 with the project that is gone; then 404, its predictions gone, its files out of Storage", async () => {
  const projectId = await user.createProject();
  const other = await user.createProject();
  const reference = await user.upload(await drawImage());
  const frame = await user.finish(await user.start("first-frame", { projectId, referenceImagePath: reference }));
  const url = frame.output?.url ?? "";
  const files = [`keyframe-outputs/${frame.output?.path}`, `projects/${reference.slice("projects/".length)}`].sort();
  expect(await stored(files)).toEqual(files);
  const { predictions: _, takes: __, ...before } = await readProject(user, projectId);

  expect(await deleteProject(user, projectId)).toEqual(before);

  // Nor does anything else find it: test/db/rights/owners-share.test.ts.
  expect((await user.call(`/api/projects/${projectId}`)).status).toBe(404);
  expect((await listProjects(user)).projects.map((one) => one.projectId)).toEqual([other]);
  expect(await sql`select from keyframe.predictions where project_id = ${projectId}`).toEqual([]);
  await until("both files to be gone", async () => (await stored(files)).length === 0);
  expect((await fetch(url)).ok).toBe(false);
});
