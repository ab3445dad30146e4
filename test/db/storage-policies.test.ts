import { beforeAll, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { refusalOf } from "../support/database/refusal.ts";

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

const read = (role: string, sub?: string) =>
  db.as(sub ? { role, sub } : { role }, async (sql) => {
    const rows = await sql<{ seen: string }[]>`
      select bucket_id || ':' || case when owner_id = ${owner} or name like ${`${owner}/%`} then 'owner' else 'other' end as seen
      from storage.objects order by 1`;
    return rows.map(({ seen }) => seen);
  });

const insert = (bucket: string, name: string, ownerId: string | null = owner, role = "authenticated") =>
  db.as(
    { role, sub: owner },
    (sql) => sql`insert into storage.objects (bucket_id, name, owner_id) values (${bucket}, ${name}, ${ownerId})`,
  );

describe("reading", () => {
  test("the owner → sees the own reference and the own outputs", async () => {
    expect(await read("authenticated", owner)).toEqual(["keyframe-outputs:owner", "projects:owner"]);
  });
  test("another user → sees the other ones", async () => {
    expect(await read("authenticated", other)).toEqual(["keyframe-outputs:other", "projects:other"]);
  });
  test("a user with nothing, or no user → sees nothing", async () => {
    expect(await read("authenticated", await db.addUser())).toEqual([]);
    expect(await read("authenticated")).toEqual([]);
    expect(await read("anon")).toEqual([]);
  });
  test("the secret key → sees all", async () => {
    expect((await read("service_role")).length).toBe(4);
  });
});

describe("writing", () => {
  test.each(["png", "jpg", "webp"])(
    "a reference under an identifier as name, .%s → goes through",
    async (extension) => {
      await expect(insert("projects", `${crypto.randomUUID()}.${extension}`)).resolves.toBeDefined();
    },
  );

  const id = crypto.randomUUID();
  test.each([
    ["a name of the user's choice", "projects", "mine.png"],
    ["another extension", "projects", `${id}.svg`],
    ["no extension", "projects", id],
    ["a folder", "projects", `folder/${id}.png`],
    ["capitals", "projects", `${id.toUpperCase()}.png`],
    ["a second line", "projects", `${id}.png\n`],
    ["the bucket keyframe-outputs", "keyframe-outputs", `${id}.png`],
    ["the own folder in keyframe-outputs", "keyframe-outputs", "own/project/prediction.png"],
  ])("%s → refused", async (_name, bucket, name) => {
    const full = name.replace("own/", `${owner}/`);
    expect((await refusalOf(insert(bucket, full))).sqlstate).toBe("42501");
  });

  test("in another user's name, or in none → refused", async () => {
    expect((await refusalOf(insert("projects", `${crypto.randomUUID()}.png`, other))).sqlstate).toBe("42501");
    expect((await refusalOf(insert("projects", `${crypto.randomUUID()}.png`, null))).sqlstate).toBe("42501");
  });

  test("without a session → refused", async () => {
    expect((await refusalOf(insert("projects", `${crypto.randomUUID()}.png`, owner, "anon"))).sqlstate).toBe("42501");
  });

  test("with the secret key → outputs are written", async () => {
    await expect(insert("keyframe-outputs", `${owner}/p/2.png`, null, "service_role")).resolves.toBeDefined();
  });

  test("an owner's update or delete → touches nothing, so a prediction's reference stays what it was", async () => {
    await db.as({ role: "authenticated", sub: owner }, async (sql) => {
      expect((await sql`update storage.objects set name = name where bucket_id = 'projects'`).count).toBe(0);
      await sql`select set_config('storage.allow_delete_query', 'true', true)`; // as the Storage API does
      expect((await sql`delete from storage.objects where bucket_id = 'projects'`).count).toBe(0);
    });
  });
});

test("the buckets → are private, with their limits", async () => {
  const buckets =
    await db.sql`select id, public, file_size_limit::int as bytes, allowed_mime_types as types from storage.buckets order by id`;
  const images = ["image/png", "image/jpeg", "image/webp"];
  expect([...buckets]).toEqual([
    { id: "keyframe-outputs", public: false, bytes: 200 * 1024 * 1024, types: [...images, "video/mp4"] },
    { id: "projects", public: false, bytes: 10 * 1024 * 1024, types: images },
  ]);
});

test("the policies on storage.objects → are these and no others", async () => {
  const rows =
    await db.sql`select policyname, cmd, roles::text[] from pg_policies where schemaname = 'storage' order by 1`;
  expect([...rows]).toEqual([
    { policyname: "keyframe_outputs_select_owner", cmd: "SELECT", roles: ["authenticated"] },
    { policyname: "keyframe_references_insert_owner", cmd: "INSERT", roles: ["authenticated"] },
    { policyname: "keyframe_references_select_owner", cmd: "SELECT", roles: ["authenticated"] },
  ]);
});
