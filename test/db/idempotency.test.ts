import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { addWorld, type World } from "../support/database/predictions.ts";
import { codeOf } from "../support/database/refusal.ts";
import { create, liftRateLimits, start } from "../support/database/user.ts";

const HASH = "a".repeat(64);
const OTHER_HASH = "b".repeat(64);

const db = useDatabase();
let world: World;
beforeAll(async () => {
  await liftRateLimits(db);
});
beforeEach(async () => {
  world = await addWorld(db);
});

const countPredictions = async () =>
  (await db.sql`select from keyframe.predictions where owner_id = ${world.owner}`).length;
const countProjects = async (owner: string) =>
  (await db.sql`select from keyframe.projects where owner_id = ${owner}`).length;
const upload = (owner: string, key: string, hash: string) =>
  db.as({ role: "authenticated", sub: owner }, async (sql) => {
    // Two requests of the function api: one before it reads the body, one after.
    await sql`select keyframe.admit_upload(${key})`;
    const [row] = await sql`select keyframe.admit_upload(${key}, ${hash}) as admitted`;
    return row?.admitted;
  });

test("the same key and request again → the same prediction, one row, marked as replayed", async () => {
  const first = await start(db, world, { key: "k", hash: HASH });
  const again = await start(db, world, { key: "k", hash: HASH });
  expect([first.replayed, again.replayed]).toEqual([false, true]);
  expect(again.prediction.id).toBe(first.prediction.id);
  expect(await countPredictions()).toBe(1);
});

test("a project with the same key and request again → the same project", async () => {
  const first = await create(db, world.owner, { key: "k", hash: HASH });
  const again = await create(db, world.owner, { key: "k", hash: HASH });
  expect([again.project.id, again.replayed]).toEqual([first.project.id, true]);
  expect(await countProjects(world.owner)).toBe(2); // with the world's own
});

test("an upload with the same key and request again → the same file, and it is counted once", async () => {
  const first = await upload(world.owner, "k", HASH);
  const again = await upload(world.owner, "k", HASH);
  expect([first.replayed, again.replayed]).toEqual([false, true]);
  expect(again.file_id).toBe(first.file_id);
  expect(again.rate.remaining).toBe(first.rate.remaining);
});

test("an upload whose body never came whole, sent again → the same file, no second token, and no replay", async () => {
  const admit = () =>
    db.as({ role: "authenticated", sub: world.owner }, async (sql) => {
      const [row] = await sql`select keyframe.admit_upload('k') as admitted`;
      return row?.admitted;
    });
  const [first, second] = [await admit(), await admit()];
  expect([second.file_id, second.rate]).toEqual([first.file_id, first.rate]);
  expect(await upload(world.owner, "k", HASH)).toMatchObject({ file_id: first.file_id, replayed: false });
  expect(await upload(world.owner, "k", HASH)).toMatchObject({ file_id: first.file_id, replayed: true });
});

test("50 equal uploads at once → one of them is the first, all say the same file", async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => upload(world.owner, "k", HASH)));
  expect(new Set(answers.map(({ file_id }) => file_id)).size).toBe(1);
  expect(answers.filter(({ replayed }) => !replayed).length).toBe(1);
});

test("a key that waits for the body of an upload → is no other request's", async () => {
  await db.as({ role: "authenticated", sub: world.owner }, (sql) => sql`select keyframe.admit_upload('k')`);
  expect(await codeOf(create(db, world.owner, { key: "k", hash: HASH }))).toBe("idempotency_mismatch");
  await create(db, world.owner, { key: "other", hash: HASH });
  expect(await codeOf(upload(world.owner, "other", OTHER_HASH))).toBe("idempotency_mismatch");
});

test("a replay → shows the prediction as it is now, and takes no token", async () => {
  const first = await start(db, world, { key: "k", hash: HASH });
  await db.as(
    { role: "authenticated", sub: world.owner },
    (sql) => sql`select keyframe.cancel_prediction(${world.project}, ${first.prediction.id})`,
  );
  const again = await start(db, world, { key: "k", hash: HASH });
  expect(again.prediction.status).toBe("canceled");
  expect(again.rate.remaining).toBe(first.rate.remaining);
});

test("the same key with another request → idempotency_mismatch, no row", async () => {
  await start(db, world, { key: "k", hash: HASH });
  expect(await codeOf(start(db, world, { key: "k", hash: OTHER_HASH }))).toBe("idempotency_mismatch");
  expect(await codeOf(create(db, world.owner, { key: "k", hash: OTHER_HASH }))).toBe("idempotency_mismatch");
  expect(await codeOf(upload(world.owner, "k", OTHER_HASH))).toBe("idempotency_mismatch");
  expect(await countPredictions()).toBe(1);
});

test("another owner's same key → is another key", async () => {
  const other = await addWorld(db);
  const mine = await start(db, world, { key: "k", hash: HASH });
  const theirs = await start(db, other, { key: "k", hash: OTHER_HASH });
  expect(theirs.replayed).toBe(false);
  expect(theirs.prediction.id).not.toBe(mine.prediction.id);
});

test("50 equal requests at once → one row, one of them made it, all say the same id", async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => start(db, world, { key: "k", hash: HASH })));
  expect(new Set(answers.map(({ prediction }) => prediction.id)).size).toBe(1);
  expect(answers.filter(({ replayed }) => !replayed).length).toBe(1);
  expect(await countPredictions()).toBe(1);
});

test("two different requests with one key at once → one goes through, the other is a mismatch", async () => {
  const outcomes = await Promise.allSettled(
    [HASH, OTHER_HASH].map((hash) => create(db, world.owner, { key: "k", hash })),
  );
  expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(await countProjects(world.owner)).toBe(2);
});

describe("keyframe_private.reserve_idempotency_key", () => {
  type Remembered = { resource_id: string; replayed: boolean; answer: unknown };
  const remember = (caller: string, hash: string, key = "k") =>
    db.as(caller === "service_role" ? { role: caller } : { role: "authenticated", sub: caller }, async (sql) => {
      const [row] = await sql<Remembered[]>`select * from keyframe_private.reserve_idempotency_key(${key}, ${hash})`;
      return row;
    });
  const deleteKeys = () => db.sql`delete from keyframe_private.idempotency_keys where owner_id is null`;

  test("with the secret key → keys of its own, beside a user's", async () => {
    const first = await remember("service_role", HASH);
    const again = await remember("service_role", HASH);
    const mine = await remember(world.owner, OTHER_HASH);
    expect([first?.replayed, again?.replayed, mine?.replayed]).toEqual([false, true, false]);
    expect(again?.resource_id).toBe(first?.resource_id);
    expect(await codeOf(remember("service_role", OTHER_HASH))).toBe("idempotency_mismatch");
    await deleteKeys();
  });

  test("with the secret key, 50 equal requests at once → one of them is the first", async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => remember("service_role", HASH)));
    expect(answers.filter((answer) => !answer?.replayed).length).toBe(1);
    expect(new Set(answers.map((answer) => answer?.resource_id)).size).toBe(1);
    await deleteKeys();
  });

  test("with a session that names no user → unauthorized: it must not write among the secret key's", async () => {
    const nobody = (statement: string) => db.as({ role: "authenticated" }, (sql) => sql.unsafe(statement));
    expect(await codeOf(nobody(`select keyframe_private.reserve_idempotency_key('k', '${HASH}')`))).toBe(
      "unauthorized",
    );
    expect(await codeOf(nobody("select keyframe.admit_upload('k')"))).toBe("unauthorized");
    expect((await db.sql`select from keyframe_private.idempotency_keys where owner_id is null`).count).toBe(0);
  });

  test("an answer that was kept → comes with the replay, and not beyond the key's 24 hours", async () => {
    const first = await remember(world.owner, HASH);
    await db.sql`select keyframe_private.store_idempotent_answer(${first?.resource_id ?? ""}, '{"recovered": 3}')`;
    expect((await remember(world.owner, HASH))?.answer).toEqual({ recovered: 3 });
    await db.sql`update keyframe_private.idempotency_keys set created_at = now() - interval '25 hours' where owner_id = ${world.owner}`;
    expect(await remember(world.owner, HASH)).toMatchObject({ replayed: false, answer: null });
  });

  test("a replay → leaves the key's age alone", async () => {
    await remember(world.owner, HASH);
    await db.sql`update keyframe_private.idempotency_keys set created_at = now() - interval '23 hours' where owner_id = ${world.owner}`;
    await remember(world.owner, HASH);
    const [row] = await db.sql`
      select created_at < now() - interval '22 hours' as old from keyframe_private.idempotency_keys where owner_id = ${world.owner}`;
    expect(row?.old).toBe(true);
  });

  test("pruning → takes the keys that are over, a user's and the secret key's, and no other", async () => {
    await remember("service_role", HASH, "old");
    await remember(world.owner, HASH, "old");
    await db.sql`update keyframe_private.idempotency_keys set created_at = now() - interval '24 hours 1 second' where key = 'old'`;
    await remember("service_role", HASH, "young");
    await remember(world.owner, HASH, "young");
    await db.sql`select keyframe_private.prune()`;
    const kept = await db.sql`
      select key from keyframe_private.idempotency_keys where owner_id = ${world.owner} or owner_id is null`;
    expect(kept.map(({ key }) => key)).toEqual(["young", "young"]);
    await deleteKeys();
  });

  test("the user is deleted → so are their keys", async () => {
    const leaving = await db.addUser();
    await remember(leaving, HASH);
    await db.sql`delete from auth.users where id = ${leaving}`;
    expect((await db.sql`select from keyframe_private.idempotency_keys where owner_id = ${leaving}`).count).toBe(0);
  });
});

describe("the age of a key", () => {
  const age = (interval: string) =>
    db.sql`update keyframe_private.idempotency_keys set created_at = now() - ${interval}::interval where owner_id = ${world.owner}`;

  test("of almost 24 hours → still remembered", async () => {
    const first = await start(db, world, { key: "k", hash: HASH });
    await age("23 hours 59 minutes");
    expect((await start(db, world, { key: "k", hash: HASH })).prediction.id).toBe(first.prediction.id);
  });

  test("of more than 24 hours → free again, for any request, and then remembered anew", async () => {
    const first = await start(db, world, { key: "k", hash: HASH });
    await age("24 hours 1 second");
    const second = await start(db, world, { key: "k", hash: OTHER_HASH });
    expect(second.replayed).toBe(false);
    expect(second.prediction.id).not.toBe(first.prediction.id);
    expect((await start(db, world, { key: "k", hash: OTHER_HASH })).prediction.id).toBe(second.prediction.id);
  });

  test("free again, 20 requests at once → one row more", async () => {
    await start(db, world, { key: "k", hash: HASH });
    await age("25 hours");
    const answers = await Promise.all(Array.from({ length: 20 }, () => start(db, world, { key: "k", hash: HASH })));
    expect(new Set(answers.map(({ prediction }) => prediction.id)).size).toBe(1);
    expect(await countPredictions()).toBe(2);
  });
});

test("a request that is refused → leaves its key free", async () => {
  expect(await codeOf(start(db, world, { step: "video", key: "k", hash: HASH }))).toBe("frame_not_ready");
  expect((await start(db, world, { key: "k", hash: OTHER_HASH })).replayed).toBe(false);
});

test("what the key made is gone → not_found, and no second one is made", async () => {
  const { project } = await create(db, world.owner, { key: "k", hash: HASH });
  await db.sql`delete from keyframe.projects where id = ${project.id}`;
  expect(await codeOf(create(db, world.owner, { key: "k", hash: HASH }))).toBe("not_found");
  expect(await countProjects(world.owner)).toBe(1);
});
