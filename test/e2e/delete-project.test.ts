import { join } from "node:path";
import { createClient } from "@supabase/supabase-js";
import { afterAll, describe, expect, inject, test } from "vitest";
import { drawReferencePhoto } from "../../local/simulator/draw/scene.ts";
import { type Prediction, uploadedReferenceImage } from "../../shared/contract/predictions.ts";
import { project } from "../../shared/contract/projects.ts";
import { download, expectSoundEnd } from "../support/film/ending.ts";
import { type FilmMaker, newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { connect } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

const stack = inject("stack");
const sql = connect(stack.databaseUrl);
afterAll(() => sql.end({ timeout: 1 }));

/** Deletes a project with the user's own token, as supabase-js does. */
async function remove(maker: FilmMaker, projectId = maker.projectId) {
  const client = createClient(stack.url, stack.publishableKey, {
    db: { schema: "keyframe" },
    auth: { persistSession: false, autoRefreshToken: false },
    global: { headers: { authorization: `Bearer ${maker.accessToken}` } },
  });
  return await client.rpc("delete_project", { project_id: projectId });
}

/** The files of a user as Storage's table has them, each with its bucket. */
async function filesOf(userId: string): Promise<string[]> {
  const rows = await sql<{ file: string }[]>`
    select bucket_id || '/' || name as file from storage.objects
    where owner_id = ${userId} or name like ${`${userId}/%`} order by 1`;
  return rows.map(({ file }) => file);
}

/** Which of these files the disk still holds. The local Storage keeps an entry.json beside each. */
async function onDisk(files: string[]): Promise<string[]> {
  const found: string[] = [];
  const storage = join(stack.dataDir, "storage");
  const folders = async (path: string) => (await Array.fromAsync(Deno.readDir(path))).filter((e) => e.isDirectory);
  for (const shelf of await folders(storage)) {
    for (const folder of await folders(join(storage, shelf.name))) {
      const text = await Deno.readTextFile(join(storage, shelf.name, folder.name, "entry.json")).catch(() => "{}");
      const { bucket, key }: { bucket?: string; key?: string } = JSON.parse(text);
      if (files.includes(`${bucket}/${key}`)) found.push(`${bucket}/${key}`);
    }
  }
  return found.sort();
}

async function upload(maker: FilmMaker): Promise<string> {
  const photo = drawReferencePhoto(crypto.randomUUID());
  const path = "/api/projects/reference-images";
  return (await maker.call(uploadedReferenceImage, "POST", path, photo)).referenceImagePath;
}

const succeeded = async (maker: FilmMaker, made: Prediction): Promise<Prediction> => {
  const ended = await maker.untilEnded(made);
  expect(ended).toMatchObject({ status: "succeeded" });
  return ended;
};

// Several runs one after the other, each as long as a busy machine needs.
describe.concurrent("a project is deleted", { timeout: 120_000 }, () => {
  test("after its frames were made → its files and its own reference are gone from Storage, one that another project shares stays until that goes too", async () => {
    const maker = await newFilmMaker(stack);
    const [own, shared] = [await upload(maker), await upload(maker)];
    const first = await succeeded(maker, await maker.start("first-frame", { referenceImagePath: own }));
    await succeeded(maker, await maker.start("last-frame", { referenceImagePath: shared }));
    const second = await maker.call(project, "POST", "/api/projects", { title: "Quay", textPrompt: promptWith() });
    const { projectId } = second;
    const other = await maker.start("first-frame", { projectId, referenceImagePath: shared });
    await until("the other project's frame has succeeded", async () => {
      const [row] =
        await sql`select from keyframe.predictions where id = ${other.predictionId} and status = 'succeeded'`;
      return row;
    });
    const before = await filesOf(maker.userId);
    expect(before).toHaveLength(5);
    expect(await onDisk(before)).toEqual(before);

    expect((await remove(maker)).data.project.id).toBe(maker.projectId);
    const kept = before.filter((file) => file === shared || file.includes(projectId));
    await until("only the other project's files are left", async () => {
      return (await filesOf(maker.userId)).join() === kept.join();
    });
    expect(await onDisk(before)).toEqual(kept);
    expect(kept).toHaveLength(2);
    await expect(download(first)).rejects.toThrow();

    await remove(maker, projectId);
    await until("nothing is left", async () => (await filesOf(maker.userId)).length === 0);
    expect(await onDisk(before)).toEqual([]);
    await until("nothing is left to remove", async () => {
      const [row] =
        await sql`select count(*)::int as count from keyframe_private.file_removals where name like ${`${maker.userId}/%`}`;
      return row?.count === 0;
    });
  });

  test("while something of it runs → refused; cancelled, then deleted → gone", async () => {
    const maker = await newFilmMaker(stack);
    const made = await maker.start("first-frame", { prompt: promptWith("output_slow=20000") });
    const refused = await remove(maker);
    expect(refused.error).toMatchObject({ code: "KEYFR", message: "generation_in_progress" });
    await until("it is copied", async () => {
      const [row] = await sql`select from keyframe.predictions where id = ${made.predictionId} and status = 'storing'`;
      return row;
    });
    expect((await remove(maker)).error).toMatchObject({ message: "generation_in_progress" });
    await maker.cancel(made);
    await expectSoundEnd(sql, made);
    expect((await remove(maker)).error).toBeNull();
    await until("nothing is left", async () => (await filesOf(maker.userId)).length === 0);
  });

  test("an administrator deletes the account while an output is copied → the file does not stay", async () => {
    const maker = await newFilmMaker(stack);
    const made = await maker.start("first-frame", { prompt: promptWith("output_slow=1500") });
    await until("somebody copies it", async () => {
      const [row] = await sql`
        select from keyframe.predictions where id = ${made.predictionId} and status = 'storing' and lease_token is not null`;
      return row;
    });
    await sql`delete from auth.users where id = ${maker.userId}`;
    await until("the worker has come too late, and what it wrote is removed", async () => {
      const [row] =
        await sql`select count(*)::int as count from keyframe_private.file_removals where name like ${`${maker.userId}/%`}`;
      return row?.count === 0;
    });
    expect(await filesOf(maker.userId)).toEqual([]);
  });
});
