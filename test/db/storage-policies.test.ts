import { beforeAll, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { refusalOf } from "../support/database/refusal.ts";

// What the Storage API decides with these policies: test/api/storage-policies.test.ts. Here, what it gives no caller a chance to try.

const db = useDatabase();
let owner: string;
let other: string;
beforeAll(async () => {
  owner = await db.addUser();
  other = await db.addUser();
  await db.sql`
    insert into storage.objects (bucket_id, name, owner_id) values
      ('projects', ${`${crypto.randomUUID()}.png`}, ${owner}),
      ('projects', ${`${crypto.randomUUID()}.jpg`}, ${other}),
      ('keyframe-outputs', ${`${owner}/p/1.png`}, null),
      ('keyframe-outputs', ${`${other}/p/1.mp4`}, null)`;
});

const insert = (bucket: string, name: string, ownerId: string | null = owner) =>
  db.as({ role: "authenticated", sub: owner }, async (sql) => {
    await sql`insert into storage.objects (bucket_id, name, owner_id) values (${bucket}, ${name}, ${ownerId})`;
  });

test.each(["png", "jpg", "webp"])("a reference under an identifier as name, .%s → goes in", async (extension) => {
  await insert("projects", `${crypto.randomUUID()}.${extension}`);
});

test("a second line in the name, another user's name, nobody's, or the bucket of the outputs → refused", async () => {
  const name = `${crypto.randomUUID()}.png`;
  for (const args of [
    ["projects", `${name}\n`],
    ["projects", name, other],
    ["projects", name, null],
    ["keyframe-outputs", name],
  ] as Parameters<typeof insert>[]) {
    expect((await refusalOf(insert(...args))).sqlstate).toBe("42501");
  }
});

test("the buckets → are private, and take these types of files", async () => {
  const buckets = await db.sql`select id, public, allowed_mime_types as types from storage.buckets order by id`;
  const images = ["image/png", "image/jpeg", "image/webp"];
  expect([...buckets]).toEqual([
    { id: "keyframe-outputs", public: false, types: [...images, "video/mp4"] },
    { id: "projects", public: false, types: images },
  ]);
});
