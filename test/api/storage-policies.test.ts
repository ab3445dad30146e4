import { createClient } from "@supabase/supabase-js";
import { beforeAll, expect, inject, test } from "vitest";
import { footprint, openDatabase } from "../support/api/database.ts";
import { signUp, type User } from "../support/api/user.ts";
import { drawImage } from "../support/media/images.ts";

const sql = openDatabase();
let user: User;
let stranger: User;
let image: Uint8Array<ArrayBuffer>;
let name: string;
beforeAll(async () => {
  [user, stranger, image] = await Promise.all([signUp(), signUp(), drawImage()]);
  name = (await user.upload(image)).slice("projects/".length);
});

const options = { contentType: "image/png" };
const uuidName = () => `${crypto.randomUUID()}.png`;
const bucketOf = ({ supabase }: User, bucket = "projects") => supabase.storage.from(bucket);
const bytesOf = async (file: Blob | null) => new Uint8Array((await file?.arrayBuffer()) ?? new ArrayBuffer(0));

test("an upload of a user straight to Storage, with a size and an owner of their choice → refused in either bucket", async () => {
  const { url } = inject("stack");
  const before = await footprint(sql, user.id);
  for (const [bucket, path] of [
    ["projects", uuidName()],
    ["keyframe-outputs", uuidName()],
    ["keyframe-outputs", `${user.id}/${crypto.randomUUID()}/${uuidName()}`],
  ] as const) {
    const file = bucketOf(user, bucket);
    for (const more of [{}, { upsert: true }, { metadata: { width: 1, height: 1, ownerId: user.id } }]) {
      const { data, error } = await file.upload(path, image, { ...options, ...more });
      expect([bucket, data, error?.message]).toEqual([
        bucket,
        null,
        expect.stringMatching(/row-level security|policy/i),
      ]);
    }
    expect((await file.createSignedUploadUrl(path)).data).toBeNull();
    if (bucket === "projects") expect((await file.copy(name, path)).data).toBeNull();
    const chunks = new Blob([image]).stream();
    const headers = { authorization: `Bearer ${user.token}`, "content-type": "image/png" };
    const inChunks = await fetch(`${url}/storage/v1/object/${bucket}/${path}`, {
      method: "POST",
      headers,
      body: chunks,
    });
    await inChunks.body?.cancel();
    expect(inChunks.ok).toBe(false);
  }
  expect(await footprint(sql, user.id)).toEqual(before);
});

test("a user overwrites, moves or removes any image in Storage → refused, since predictions may still need it", async () => {
  const other = await drawImage();
  for (const by of [stranger, user]) {
    const bucket = bucketOf(by);
    for (const upsert of [false, true]) {
      expect((await bucket.upload(name, other, { ...options, upsert })).data).toBeNull();
    }
    await bucket.remove([name]);
    await bucket.move(name, uuidName());
    await bucket.update(name, other, options);
    expect((await bucket.createSignedUploadUrl(name, { upsert: true })).data).toBeNull();
    for (const id of ["projects", "keyframe-outputs"]) {
      expect((await by.supabase.storage.emptyBucket(id)).data).toBeNull();
      await by.supabase.storage.updateBucket(id, { public: true });
      await by.supabase.storage.deleteBucket(id);
    }
  }
  // The address for a download is none for an upload.
  const { data: signed } = await bucketOf(user).createSignedUrl(name, 60);
  const token = new URL(signed?.signedUrl ?? "").searchParams.get("token") ?? "";
  expect((await bucketOf(user).uploadToSignedUrl(name, token, other, options)).data).toBeNull();
  expect(await sql`select id from storage.buckets where public or id is null`).toEqual([]);
  expect(await bytesOf((await bucketOf(user).download(name)).data)).toEqual(image);
});

test("an image and a generated frame → their owner can download them; another user can neither download, list nor sign them", async () => {
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

test("requests to Storage without a session → no upload, no download, no list, in either bucket", async () => {
  const { url, publishableKey } = inject("stack");
  const { storage } = createClient(url, publishableKey, { auth: { persistSession: false, autoRefreshToken: false } });
  for (const bucket of ["projects", "keyframe-outputs"]) {
    expect((await storage.from(bucket).upload(uuidName(), image, options)).data).toBeNull();
    expect((await storage.from(bucket).list()).data ?? []).toEqual([]);
  }
  expect((await storage.from("projects").download(name)).data).toBeNull();
  expect((await fetch(storage.from("projects").getPublicUrl(name).data.publicUrl)).ok).toBe(false);
});
