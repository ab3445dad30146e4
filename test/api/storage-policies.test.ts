import { createClient } from "@supabase/supabase-js";
import { beforeAll, expect, inject, test } from "vitest";
import { footprint, openDatabase } from "../support/api/database.ts";
import { signUp, type User } from "../support/api/user.ts";
import { drawImage } from "../support/media/images.ts";

// What users may do at the Storage API itself, past our functions.

const sql = openDatabase();
let user: User;
let stranger: User;
let image: Uint8Array<ArrayBuffer>;
/** An image of the user's, uploaded past the API. */
let name: string;
beforeAll(async () => {
  [user, stranger, image] = await Promise.all([signUp(), signUp(), drawImage()]);
  name = uuidName();
  expect((await bucketOf(user).upload(name, image, options)).error).toBeNull();
  expect((await footprint(sql, user.id)).files).toEqual([`projects/${name}`]);
});

const options = { contentType: "image/png" };
const uuidName = () => `${crypto.randomUUID()}.png`;
const bucketOf = ({ supabase }: User, bucket = "projects") => supabase.storage.from(bucket);
const bytesOf = async (file: Blob | null) => new Uint8Array((await file?.arrayBuffer()) ?? new ArrayBuffer(0));

// Names of another shape: test/security/files.test.ts.
test("an upload among the outputs, under the user's own folder too → refused, and nothing is stored", async () => {
  const before = await footprint(sql, user.id);
  for (const path of [uuidName(), `${user.id}/${crypto.randomUUID()}/${uuidName()}`]) {
    const { data, error } = await bucketOf(user, "keyframe-outputs").upload(path, image, options);
    expect([data, error?.message]).toEqual([null, expect.stringMatching(/row-level security|policy/i)]);
  }
  expect(await footprint(sql, user.id)).toEqual(before);
});

test("a file that is too large → refused by the bucket itself", async () => {
  expect((await bucketOf(user).upload(uuidName(), new Uint8Array(10 * 1024 * 1024 + 1), options)).data).toBeNull();
});

test("one too large in chunks, whose size Storage does not see → stored, and refused where a start would send it", async () => {
  const { url } = inject("stack");
  const large = uuidName();
  const chunk = new Uint8Array(1024 * 1024);
  let left = 11;
  const body = new ReadableStream<Uint8Array>({
    pull: (stream) => (left-- > 0 ? stream.enqueue(chunk) : stream.close()),
  });
  const headers = { authorization: `Bearer ${user.token}`, "content-type": "image/png" };
  const stored = await fetch(`${url}/storage/v1/object/projects/${large}`, { method: "POST", headers, body });
  expect(stored.status).toBe(200);
  await stored.body?.cancel();
  const projectId = await user.createProject();
  for (const path of ["first-frame", "first-frame/estimate"]) {
    const json = { projectId, referenceImagePath: `projects/${large}` };
    const { status, error } = await user.post(`/api/projects/generate/${path}`, json);
    expect([path, status, error?.code, error?.message]).toEqual([
      path,
      422,
      "unsupported_input",
      expect.stringMatching(/11 MB.*10 MB/),
    ]);
  }
  expect(await sql`select from keyframe.predictions where project_id = ${projectId}`).toHaveLength(0);
});

test("overwriting, moving or removing an image, another user's or the own → refused: predictions may still need it", async () => {
  const other = await drawImage();
  for (const by of [stranger, user]) {
    const bucket = bucketOf(by);
    for (const upsert of [false, true]) {
      expect((await bucket.upload(name, other, { ...options, upsert })).data).toBeNull();
    }
    await bucket.remove([name]);
    await bucket.move(name, uuidName());
    await bucket.update(name, other, options);
  }
  expect(await bytesOf((await bucketOf(user).download(name)).data)).toEqual(image);
});

test("an image and a generated frame → their owner downloads them; another user neither downloads, lists nor signs them", async () => {
  const projectId = await user.createProject();
  const { output } = await user.finish(await user.start("first-frame", { projectId }));
  for (const [bucket, path, folder] of [
    ["projects", name, ""],
    ["keyframe-outputs", output?.path ?? "", `${user.id}/${projectId}`],
  ] as const) {
    expect((await bucketOf(user, bucket).download(path)).data?.size).toBeGreaterThan(0);
    const foreign = bucketOf(stranger, bucket);
    expect((await foreign.download(path)).data).toBeNull();
    expect((await foreign.createSignedUrl(path, 60)).data).toBeNull();
    expect((await foreign.list(folder)).data).toEqual([]);
  }
});

test("without a session → no upload, no download, no list, in either bucket", async () => {
  const { url, publishableKey } = inject("stack");
  const { storage } = createClient(url, publishableKey, { auth: { persistSession: false, autoRefreshToken: false } });
  for (const bucket of ["projects", "keyframe-outputs"]) {
    expect((await storage.from(bucket).upload(uuidName(), image, options)).data).toBeNull();
    expect((await storage.from(bucket).list()).data ?? []).toEqual([]);
  }
  expect((await storage.from("projects").download(name)).data).toBeNull();
  expect((await fetch(storage.from("projects").getPublicUrl(name).data.publicUrl)).ok).toBe(false);
});
