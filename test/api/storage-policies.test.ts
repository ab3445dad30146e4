import { createClient } from "@supabase/supabase-js";
import { beforeAll, expect, inject, test } from "vitest";
import { footprint, openDatabase } from "../support/api/database.ts";
import { drawImage } from "../support/media/images.ts";
import { signUp, type User } from "../support/api/user.ts";

// What users may do at the Storage API itself, past our functions.

const sql = openDatabase();
let user: User;
let stranger: User;
let image: Uint8Array<ArrayBuffer>;
beforeAll(async () => {
  [user, stranger, image] = await Promise.all([signUp(), signUp(), drawImage()]);
});

const options = { contentType: "image/png" };
const uuidName = () => `${crypto.randomUUID()}.png`;

test("an upload to projects under a name of our shape → stored, owned by the user", async () => {
  const name = uuidName();
  const { error } = await user.supabase.storage.from("projects").upload(name, image, options);
  expect(error).toBeNull();
  expect((await footprint(sql, user.id)).files).toContain(`projects/${name}`);
});

test.each([
  "a.png",
  "folder/a.png",
  `${crypto.randomUUID()}/a.png`,
  `${crypto.randomUUID()}.gif`,
  `${crypto.randomUUID()}.png.html`,
  crypto.randomUUID(),
  `${crypto.randomUUID().toUpperCase()}.png`,
])("an upload to projects as %s → refused, and nothing is stored", async (name) => {
  const before = await footprint(sql, user.id);
  const { data, error } = await user.supabase.storage.from("projects").upload(name, image, options);
  expect(data).toBeNull();
  expect(error?.message).toMatch(/row-level security|policy/i);
  expect(await footprint(sql, user.id)).toEqual(before);
});

test("an upload to keyframe-outputs → refused, also into a folder of the caller", async () => {
  const before = await footprint(sql, user.id);
  for (const name of [uuidName(), `${user.id}/${crypto.randomUUID()}/${uuidName()}`]) {
    const { data, error } = await user.supabase.storage.from("keyframe-outputs").upload(name, image, options);
    expect(data).toBeNull();
    expect(error?.message).toMatch(/row-level security|policy/i);
  }
  expect(await footprint(sql, user.id)).toEqual(before);
});

test("an upload over another user's image, upsert or not → refused, and the image stays", async () => {
  const name = uuidName();
  await user.supabase.storage.from("projects").upload(name, image, options);
  const other = await drawImage();
  for (const upsert of [false, true]) {
    const { data } = await stranger.supabase.storage.from("projects").upload(name, other, { ...options, upsert });
    expect(data).toBeNull();
  }
  const { data } = await user.supabase.storage.from("projects").download(name);
  expect(new Uint8Array((await data?.arrayBuffer()) ?? new ArrayBuffer(0))).toEqual(image);
});

test("removing, moving or overwriting an image, even the caller's own → refused: predictions may still need it", async () => {
  const name = uuidName();
  const bucket = user.supabase.storage.from("projects");
  await bucket.upload(name, image, options);
  await bucket.remove([name]);
  await bucket.move(name, uuidName());
  await bucket.upload(name, await drawImage(), { ...options, upsert: true });
  await bucket.update(name, await drawImage(), options);
  const { data } = await bucket.download(name);
  expect(new Uint8Array((await data?.arrayBuffer()) ?? new ArrayBuffer(0))).toEqual(image);
});

test("a generated frame → its owner downloads it; another user neither downloads, lists nor signs it", async () => {
  const projectId = await user.createProject();
  const { output } = await user.finish(await user.start("first-frame", { projectId }));
  const path = output?.path ?? "";
  expect(path.startsWith(`${user.id}/${projectId}/`)).toBe(true);
  const own = await user.supabase.storage.from("keyframe-outputs").download(path);
  expect(own.data?.size).toBe(output?.bytes);
  const bucket = stranger.supabase.storage.from("keyframe-outputs");
  expect((await bucket.download(path)).data).toBeNull();
  expect((await bucket.createSignedUrl(path, 60)).data).toBeNull();
  expect((await bucket.list(`${user.id}/${projectId}`)).data).toEqual([]);
});

test("without a session → no upload, no download, no list, in either bucket", async () => {
  const { url, publishableKey } = inject("stack");
  const { storage } = createClient(url, publishableKey, { auth: { persistSession: false, autoRefreshToken: false } });
  const name = uuidName();
  await user.supabase.storage.from("projects").upload(name, image, options);
  for (const bucket of ["projects", "keyframe-outputs"]) {
    expect((await storage.from(bucket).upload(uuidName(), image, options)).data).toBeNull();
    expect((await storage.from(bucket).list()).data ?? []).toEqual([]);
  }
  expect((await storage.from("projects").download(name)).data).toBeNull();
  expect((await fetch(storage.from("projects").getPublicUrl(name).data.publicUrl)).ok).toBe(false);
});

test("a file too large or of another type → refused by the bucket itself", async () => {
  const bucket = user.supabase.storage.from("projects");
  const before = await footprint(sql, user.id);
  expect((await bucket.upload(uuidName(), new Uint8Array(10 * 1024 * 1024 + 1), options)).data).toBeNull();
  expect((await bucket.upload(uuidName(), image, { contentType: "text/html" })).data).toBeNull();
  expect(await footprint(sql, user.id)).toEqual(before);
});
