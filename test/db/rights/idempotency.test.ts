import { beforeEach, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { type Row, useWorld } from "../../support/database/predictions.ts";
import { codeOf } from "../../support/database/refusal.ts";
import { addScene, makeRequest } from "../../support/database/requests.ts";
import { create, start } from "../../support/database/user.ts";
import { call } from "../../support/database/webhooks.ts";

const HASH = "a".repeat(64);
const OTHER_HASH = "b".repeat(64);

const db = useDatabase();
const world = useWorld(db);
beforeEach(async () => {
  await db.sql`delete from keyframe_private.idempotency_keys`;
});

const admit = (idempotency_key: string, request_hash: string | null = null) =>
  call<{ file_id: string; rate: Row }>(db, world.owner, "admit_upload", { idempotency_key, request_hash });
/** Two requests of the function api: one before it reads the body, one after. */
const upload = async (key: string, hash: string) => {
  await admit(key);
  return await admit(key, hash);
};

test("an upload whose body never arrived in full is sent again → the same file, another token, and not a replay", async () => {
  const { file_id, rate } = await admit("k");
  expect(await admit("k")).toMatchObject({ file_id, rate: { remaining: Number(rate.remaining) - 1 } });
  expect(await upload("k", HASH)).toMatchObject({ file_id, replayed: false });
  expect(await upload("k", HASH)).toMatchObject({ file_id, replayed: true });
});

test("a key whose upload still waits for its body → cannot be used by another request", async () => {
  await admit("k");
  expect(await codeOf(create(db, world.owner, { key: "k", hash: HASH }))).toBe("idempotency_mismatch");
  await create(db, world.owner, { key: "other", hash: HASH });
  expect(await codeOf(upload("other", OTHER_HASH))).toBe("idempotency_mismatch");
});

type Remembered = { resource_id: string; replayed: boolean; answer: unknown };
const remember = (caller: string, hash = HASH, key = "k") =>
  db.as(caller === "service_role" ? { role: caller } : { role: "authenticated", sub: caller }, async (sql) => {
    await sql`reset role`; // only functions of ours call it, for the caller of the claims
    const [row] = await sql<Remembered[]>`
      select resource_id, replayed, answer from keyframe_private.reserve_idempotency_key(${key}, ${hash})`;
    if (!row) throw new Error("reserve_idempotency_key gave no row.");
    return row;
  });
const age = (interval: string) =>
  db.sql`update keyframe_private.idempotency_keys set created_at = now() - ${interval}::interval`;

test("a request with a session that names no user → unauthorized: it must not write among the secret key's requests", async () => {
  for (const statement of [
    "select keyframe.admit_upload('k')",
    "select keyframe.create_project('t', 'p')",
    `select keyframe.start_prediction('${world.project}', 'first-frame')`,
    `select keyframe.estimate_prediction('${world.project}', 'first-frame')`,
  ]) {
    expect(await codeOf(db.as({ role: "authenticated" }, (sql) => sql.unsafe(statement)))).toBe("unauthorized");
  }
});

test("a key of almost 24 hours → answered as before, and not renewed by the replay; an older key → free for any request", async () => {
  const first = await remember(world.owner);
  await db.sql`update keyframe_private.idempotency_keys set answer = '{"recovered": 3}' where resource_id = ${first.resource_id}`;
  await age("23 hours 59 minutes");
  const again = { ...first, replayed: true, answer: { recovered: 3 } };
  expect(await remember(world.owner)).toEqual(again);
  await age("24 hours 1 second");
  await db.sql`select keyframe_private.prune()`;
  const second = await remember(world.owner, OTHER_HASH);
  expect(second).toMatchObject({ replayed: false, answer: null });
  expect(second.resource_id).not.toBe(first.resource_id);
  expect(await remember(world.owner, OTHER_HASH)).toEqual({ ...second, replayed: true });
  await age("23 hours");
  await remember(world.owner, OTHER_HASH);
  const old =
    await db.sql`select from keyframe_private.idempotency_keys where created_at < now() - interval '22 hours'`;
  expect(old.count).toBe(1); // a replay leaves the age alone
});

test("20 requests at once with a key that has become free again → one more prediction", async () => {
  const make = () => start(db, world, { key: "k", hash: HASH });
  await make();
  await age("25 hours");
  await db.sql`select keyframe_private.prune()`;
  const answers = await Promise.all(Array.from({ length: 20 }, make));
  expect(new Set(answers.map(({ prediction }) => prediction.id)).size).toBe(1);
  expect((await db.sql`select from keyframe.predictions where owner_id = ${world.owner}`).count).toBe(2);
});

test("pruning of keys → deletes only ended ones, a user's and the secret key's; a user's keys are deleted with the user", async () => {
  const keys = async () =>
    (await db.sql`select key from keyframe_private.idempotency_keys order by 1`).map(({ key }) => key);
  for (const caller of ["service_role", world.owner]) await remember(caller, HASH, "old");
  await age("24 hours 1 second");
  for (const caller of ["service_role", world.owner]) await remember(caller, HASH, "young");
  await db.sql`select keyframe_private.prune()`;
  expect(await keys()).toEqual(["young", "young"]);
  await db.sql`delete from auth.users where id = ${world.owner}`;
  expect(await keys()).toEqual(["young"]);
});

const KEY = { idempotency_key: "once", request_hash: HASH };

test("rotate_webhook_secret is replayed → the secret of that rotation; once it has ended or was deleted → not_found", async () => {
  const { endpoint: endpoint_id } = await addScene(db, world.owner);
  const rotate = (key: object = {}, overlap_hours = 24) =>
    call<{ secret: string; replayed: boolean }>(db, world.owner, "rotate_webhook_secret", {
      endpoint_id,
      overlap_hours,
      ...key,
    });
  const { secret } = await rotate(KEY);
  expect((await rotate()).secret).not.toBe(secret);
  expect(await rotate(KEY)).toMatchObject({ secret, replayed: true });
  const [row] = await db.sql`select string_agg(k::text, ' ') as kept from keyframe_private.idempotency_keys k`;
  expect(row?.kept).not.toContain(secret.slice("whsec_".length, -1));
  await db.sql`update keyframe_private.webhook_secrets set expires_at = now() - interval '1 second' where expires_at is not null`;
  expect(await codeOf(rotate(KEY))).toBe("not_found");
  const last = await rotate({}, 0);
  expect(await codeOf(rotate(KEY))).toBe("not_found");
  const [live] = await db.sql`select keyframe_private.webhook_secrets_of(${endpoint_id}) as secrets`;
  expect(live?.secrets).toEqual([last.secret]);
});

test.each([
  ["create_project", "projects"],
  ["create_film", "films"],
  ["create_element", "elements"],
  ["start_prediction", "predictions"],
  ["create_webhook_endpoint", "webhook_endpoints"],
  ["test_webhook_endpoint", "webhook_deliveries"],
])("%s is replayed after what it made was deleted → not_found", async (name, table) => {
  const scene = await addScene(db, world.owner);
  await makeRequest(db, scene, name, KEY);
  await db.sql`
    delete from keyframe.${db.sql(table)} where id = (select resource_id from keyframe_private.idempotency_keys where key = ${KEY.idempotency_key})`;
  expect(await codeOf(makeRequest(db, scene, name, KEY))).toBe("not_found");
});

test("redeliver_webhook is replayed → no second delivery; another user's delivery with one's own key → not_found", async () => {
  const [scene, theirs] = [await addScene(db, world.owner), await addScene(db, await db.addUser())];
  await makeRequest(db, scene, "redeliver_webhook", KEY);
  await db.sql`update keyframe.webhook_deliveries set status = 'exhausted', completed_at = now() where id = ${scene.delivery}`;
  const again = { replayed: true, delivery: { status: "exhausted" } };
  expect(await makeRequest(db, scene, "redeliver_webhook", KEY)).toMatchObject(again);
  const foreign = { ...theirs, caller: scene.caller };
  expect(await codeOf(makeRequest(db, foreign, "redeliver_webhook", KEY))).toBe("not_found");
});

test("a recovery that recovered nothing is replayed → recovered is still 0", async () => {
  const scene = await addScene(db, world.owner);
  for (const replayed of [false, true])
    expect(await makeRequest(db, scene, "recover_webhook_endpoint", KEY)).toMatchObject({ recovered: 0, replayed });
});
