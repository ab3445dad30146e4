import { beforeEach, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { scalar } from "../../support/database/scalar.ts";
import { call } from "../../support/database/webhooks.ts";

// What Postgres decides about keys of a user. What each right opens is as for OAuth clients: oauth-clients.test.ts. Over HTTP:
// test/security/keys.test.ts.

const db = useDatabase();
let owner: string;
beforeEach(async () => {
  owner = await db.addUser();
});

type Key = { id: string; name: string; may: string; expires_at: string | null; last_used_at: string | null };
type Created = { created: Key; key: string; replayed: boolean };

const make = (args: object = {}, caller: Parameters<typeof call>[1] = owner) =>
  call<Created>(db, caller, "create_key", { name: "Claude Code", may: "generate", ...args });
const list = async () => (await call<{ keys: Key[] }>(db, owner, "list_keys", {})).keys;
const revoke = (key_id: string, caller: Parameters<typeof call>[1] = owner) =>
  call<{ ended: Key }>(db, caller, "revoke_key", { key_id });

const expire = (id = "", ago = "") => db.sql`
  update keyframe_private.allowed_clients set expires_at = now() - ${ago}::interval where client_id = ${id}`;

/** Whose key it is, as the function answers to `api`, or the refusal. */
async function verify(key: string, id = key.slice(0, 19)): Promise<string> {
  const asked = db.as({ role: "service_role" }, (sql) =>
    scalar(sql`select keyframe_worker.verify_key(${id}, encode(sha256(convert_to(${key}, 'UTF8')), 'hex'))`),
  );
  return await asked.then(
    ({ owner_id }) => owner_id,
    ({ message, detail }) => `${message}: ${detail}`,
  );
}

/** One request with a key that was found good before. */
const act = (key_id: string, user = owner) =>
  db.as({ role: "service_role" }, (sql) =>
    scalar(sql`select keyframe_worker.act_as(${user}, 'list_projects', '{}', ${key_id})`),
  );

test("a key is made → only the SHA-256 of its secret is stored, and the list has no secret; the key works for its user", async () => {
  const { created, key } = await make({ day_limit_micros: 5_000_000, expires_at: "2036-01-01T00:00:00Z" });
  expect(key).toMatch(/^kf_[0-9a-f]{72}$/);
  expect(created.id).toBe(key.slice(0, 19));
  expect(await list()).toEqual([created]);
  const rows = await db.sql<{ text: string; checksum: boolean; hashed: boolean }[]>`
    select c::text as text, right(${key}, 8) = left(encode(sha256(convert_to(left(${key}, 67), 'UTF8')), 'hex'), 8) as checksum,
      c.secret_hash = sha256(convert_to(${key}, 'UTF8')) as hashed
    from keyframe_private.allowed_clients c where owner_id = ${owner}`;
  expect([...rows]).toMatchObject([{ checksum: true, hashed: true }]);
  expect(rows[0]?.text).not.toContain(key.slice(19, 30));
  expect(await verify(key)).toBe(owner);
});

test("a key's wrong secret, an unknown id, and an OAuth client's id → the same refusal, and no use is recorded", async () => {
  const { key, created } = await make();
  const other = (await make()).key;
  await db.sql`insert into keyframe_private.allowed_clients (client_id, name, may) values ('an app', 'An app', 'manage')`;
  const refusals = [
    await verify(other, created.id),
    await verify(key, "kf_0000000000000000"),
    await verify(key, "an app"),
    await verify("", "an app"),
  ];
  expect(new Set(refusals)).toEqual(new Set(["unauthorized: This key is not valid. Make another one."]));
  expect((await list()).map(({ last_used_at }) => last_used_at)).toEqual([null, null]);
});

test("a key is used many times in a minute → its last use is written once", async () => {
  const { key } = await make();
  const version = () =>
    scalar(db.sql`select xmin::text from keyframe_private.allowed_clients where owner_id = ${owner}`);
  await verify(key);
  expect(new Date((await list())[0]?.last_used_at ?? "").toISOString()).toMatch(/:00\.000Z$/);
  await db.sql`update keyframe_private.allowed_clients set last_used_at = now() + interval '1 minute' where owner_id = ${owner}`;
  const before = await version();
  for (let time = 0; time < 5; time++) await verify(key);
  expect(await version()).toBe(before);
});

test("a key is revoked, or its end comes → key_ended at once, also where the key was just verified; the list says when", async () => {
  for (const end of [(id: string) => revoke(id), (id: string) => expire(id, "1 second")]) {
    const { key, created } = await make();
    expect(await act(created.id)).toMatchObject({ projects: [] });
    await end(created.id);
    expect(await verify(key)).toBe("key_ended: This key was revoked or has expired. Make another one.");
    expect(await codeOf(act(created.id))).toBe("key_ended");
    const claims = { role: "authenticated", sub: owner, client_id: created.id };
    expect(await codeOf(db.as(claims, (sql) => sql`select keyframe.list_projects()`))).toBe("client_not_allowed");
    const at = (await list()).find(({ id }) => id === created.id)?.expires_at;
    expect(Date.parse(at ?? "")).toBeLessThanOrEqual(Date.now() + 1_000);
    await revoke(created.id);
    expect((await list()).find(({ id }) => id === created.id)?.expires_at).toBe(at);
  }
});

test("the account is deleted or banned, or an administrator deletes the key → the key no longer works", async () => {
  const { key, created } = await make();
  await db.sql`update auth.users set banned_until = now() + interval '1 hour' where id = ${owner}`;
  expect(await verify(key)).toMatch(/^user_not_found/);
  expect(await codeOf(act(created.id))).toBe("user_not_found");
  await db.sql`update auth.users set banned_until = null where id = ${owner}`;
  expect(await verify(key)).toBe(owner);
  await db.sql`delete from auth.users where id = ${owner}`;
  expect(await db.sql`select from keyframe_private.allowed_clients where owner_id = ${owner}`).toHaveLength(0);
  expect(await verify(key)).toMatch(/^unauthorized/);
  expect(await codeOf(act(created.id))).toBe("unauthorized");
});

test("a key → acts only as its own user and within its rights, and a refusal names the missing right", async () => {
  const { created } = await make({ may: "read" });
  expect(await codeOf(act(created.id, await db.addUser()))).toBe("unauthorized");
  const claims = (sub: string) => ({ role: "authenticated", sub, client_id: created.id });
  const listAs = (sub: string) => db.as(claims(sub), (sql) => sql`select keyframe.list_projects()`);
  expect(await codeOf(listAs(await db.addUser()))).toBe("client_not_allowed"); // a token that names another's key
  await listAs(owner);
  const said = await refusalOf(db.as(claims(owner), (sql) => sql`insert into keyframe.films (title) values ('t')`));
  const detail = "This key may not generate. Make one that may, or sign in.";
  expect(said).toMatchObject({ message: "client_not_allowed", detail });
});

test("a key, an OAuth client with all rights, and a session that names no user → cannot make, list or revoke keys", async () => {
  const { created } = await make({ may: "manage" });
  await db.sql`insert into keyframe_private.allowed_clients (client_id, name, may) values ('manager', 'An app', 'manage')`;
  for (const client_id of [created.id, "manager", null, ""]) {
    const caller = { role: "authenticated", sub: owner, client_id };
    expect(await codeOf(make({}, caller))).toBe("client_not_allowed");
    expect(await codeOf(call(db, caller, "list_keys"))).toBe("client_not_allowed");
    expect(await codeOf(revoke(created.id, caller))).toBe("client_not_allowed");
  }
  expect(await codeOf(make({}, { role: "authenticated" }))).toBe("unauthorized");
  expect(await list()).toHaveLength(1);
});

test("60 keys are made at once → 50, all different; one is revoked → one more; ended keys are kept for 30 days", async () => {
  await db.sql`delete from keyframe_private.rate_limits where route_class = 'create'`; // the lock of a bucket would order them, too
  const made = await Promise.allSettled(Array.from({ length: 60 }, () => make()));
  const done = made.flatMap((one) => (one.status === "fulfilled" ? [one.value.key] : []));
  expect(new Set(done.map((key) => key.slice(3, 19))).size).toBe(50);
  expect(new Set(done.map((key) => key.slice(19, 67))).size).toBe(50);
  const [first, second] = await list();
  expect(await codeOf(make())).toBe("invalid_request");
  await revoke(first?.id ?? "");
  await make();
  await revoke(second?.id ?? "");
  await expire(second?.id, "31 days");
  await make();
  await db.sql`select keyframe_private.prune()`;
  const ids = (await list()).map(({ id }) => id);
  expect(ids).toHaveLength(51);
  expect(ids).toContain(first?.id);
  expect(ids).not.toContain(second?.id);
});

test("a key whose end is past → invalid_request; a repeated Idempotency-Key → the same key with a new secret, until it ends", async () => {
  expect(await codeOf(make({ expires_at: "2020-01-01T00:00:00Z" }))).toBe("invalid_request");
  const again = { idempotency_key: "one", request_hash: "a".repeat(64) };
  const [one, two] = [await make(again), await make(again)];
  expect([two.replayed, two.created]).toEqual([true, one.created]);
  expect([await verify(two.key), (await verify(one.key)).split(":")[0]]).toEqual([owner, "unauthorized"]);
  await revoke(one.created.id);
  expect(await codeOf(make(again))).toBe("not_found");
});
