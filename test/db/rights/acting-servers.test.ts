import type postgres from "postgres";
import { beforeAll, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addProject } from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";

// What Postgres decides when a server acts for a user. The Data API calls as authenticator, which may become three roles only.

const db = useDatabase();
let anna: string;
let berta: string;
beforeAll(async () => {
  [anna, berta] = await Promise.all([db.addUser(), db.addUser()]);
});

const PROJECT = { title: "Harbour", text_prompt: "Dawn" };
type Act = { user: string; name?: string; args?: Record<string, unknown> };

/** One request of a server, in its own transaction, as the Data API makes it. */
const act = async ({ user, name = "create_project", args = PROJECT }: Act) =>
  (await db.as({ role: "service_role" }, (sql) => call(sql, { user, name, args })))?.project.owner_id;

async function call(sql: postgres.TransactionSql, { user, name = "create_project", args = PROJECT }: Act) {
  const [row] = await sql<{ answer: { project: { owner_id: string } } }[]>`
    select keyframe_worker.act_as(${user}, ${name}, ${sql.json(args as postgres.JSONValue)}) as answer`;
  return row?.answer;
}

test("act_as → the function's answer for this user, also where older settings name the secret key's role", async () => {
  expect(await act({ user: anna })).toBe(anna);
  const owner = await db.as({ role: "service_role" }, async (sql) => {
    await sql`select set_config('request.jwt.claim.role', 'service_role', true), set_config('request.jwt.claim.sub', ${berta}, true)`;
    const answer = await call(sql, { user: anna });
    const [now] = await sql`select current_user::text as role, auth.uid() as uid, auth.role() as claimed`;
    expect(now).toEqual({ role: "authenticated", uid: anna, claimed: "authenticated" });
    return answer?.project.owner_id;
  });
  expect(owner).toBe(anna);
});

test("a start by a server → its row says so", async () => {
  const project_id = await addProject(db, anna);
  const args = { project_id, step: "first-frame" };
  await db.as({ role: "service_role" }, (sql) => call(sql, { user: anna, name: "start_prediction", args }));
  const [row] = await db.sql`select owner_id, started_by_server from keyframe.predictions`;
  expect(row).toEqual({ owner_id: anna, started_by_server: true });
});

test.each<[string, (id: string) => Promise<unknown>]>([
  ["deleted", (id) => db.sql`delete from auth.users where id = ${id}`],
  ["marked as deleted", (id) => db.sql`update auth.users set deleted_at = now() where id = ${id}`],
  ["banned", (id) => db.sql`update auth.users set banned_until = now() + interval '1 hour' where id = ${id}`],
  ["of another role", (id) => db.sql`update auth.users set role = 'editor' where id = ${id}`],
])("act_as for a user that is %s → user_not_found, and nothing is done", async (_what, change) => {
  const id = await db.addUser();
  await change(id);
  expect(await codeOf(act({ user: id }))).toBe("user_not_found");
  expect(await db.sql`select from keyframe.projects where owner_id = ${id}`).toHaveLength(0);
});

test("act_as for a user whose ban is over → acts as this user", async () => {
  const id = await db.addUser();
  await db.sql`update auth.users set banned_until = now() - interval '1 second' where id = ${id}`;
  expect(await act({ user: id })).toBe(id);
});

test.each<[string, string, Record<string, unknown>]>([
  ["itself", "act_as", {}],
  ["a function of another schema", "keyframe_worker.claim_tasks", {}],
  ["SQL in the place of a name", "health(); select 1; --", {}],
  ["an unknown argument", "create_project", { ...PROJECT, owner_id: crypto.randomUUID() }],
  ["SQL in the place of an argument", "create_project", { ...PROJECT, "title => 'x') from x; --": 1 }],
])("act_as of %s → refused", async (_what, name, args) => {
  expect((await refusalOf(act({ user: anna, name, args }))).sqlstate).toBe("42883");
});
