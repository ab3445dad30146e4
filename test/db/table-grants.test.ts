import type { TransactionSql } from "postgres";
import { beforeAll, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { addWorld, seedPrediction, type World } from "../support/database/predictions.ts";
import { refusalOf } from "../support/database/refusal.ts";
import { rolledBack } from "../support/database/rolled-back.ts";
import { addEndpoint, seedDeliveries, sendNext } from "../support/database/webhooks.ts";

// Which rows a role reads and writes. Which tables and columns it may name at all: test/security/columns-sql.test.ts.

type Who = "anon" | "owner" | "other" | "service_role";
/** Rows that are seen, and that an update and a delete reach. insert: what comes of a row for the first user's project. */
type Access = { select: "refused" | "own" | "all"; insert: string; change: "refused" | "own" };
const NOTHING: Access = { select: "refused", insert: "refused", change: "refused" };
const OWN: Access = { ...NOTHING, select: "own" };
const ALL: Access = { ...NOTHING, select: "all" };
/** Written by functions alone; who owns a row may read it. */
const readOwn: Record<Who, Access> = { anon: NOTHING, owner: OWN, other: OWN, service_role: ALL };
/** Under the own name: the owner cannot be chosen. */
const writeOwn: Access = { select: "own", insert: "goes in", change: "own" };

/** The specification for the tables that the Data API exposes. */
const EXPECTED: Record<string, Record<Who, Access>> = {
  projects: { anon: NOTHING, owner: writeOwn, other: writeOwn, service_role: ALL },
  films: { anon: NOTHING, owner: writeOwn, other: writeOwn, service_role: ALL },
  predictions: {
    anon: NOTHING,
    owner: { ...OWN, insert: "goes in" },
    other: { ...OWN, insert: "not_found" }, // the project is not theirs
    service_role: ALL,
  },
  models: { anon: NOTHING, owner: ALL, other: ALL, service_role: ALL },
  step_defaults: { anon: NOTHING, owner: ALL, other: ALL, service_role: ALL },
  webhook_attempts: readOwn,
  webhook_deliveries: readOwn,
  webhook_endpoints: readOwn,
  webhook_events: readOwn,
};

const db = useDatabase();
let owner: World;
let other: World;
beforeAll(async () => {
  owner = await addWorld(db);
  other = await addWorld(db);
  await db.sql`insert into keyframe.films (owner_id, title) values (${owner.owner}, 't'), (${other.owner}, 't')`;
  await seedPrediction(db.sql, owner, { status: "succeeded" });
  await seedPrediction(db.sql, owner, { status: "failed" });
  await seedPrediction(db.sql, other, { status: "canceled" });
  // A service-wide endpoint is nobody's, its deliveries and attempts too.
  for (const of of [owner.owner, other.owner, null]) {
    const endpoint = await addEndpoint(db.sql, of);
    await seedDeliveries(db.sql, endpoint, 1);
    await sendNext(db.sql, { status_code: 500 });
  }
});

/** How many rows a statement reached, or why none: a missing grant and row-level security have the same code. */
async function outcomeOf(sql: TransactionSql, statement: string): Promise<string | number> {
  try {
    return (await sql.savepoint(async (inner) => ({ count: (await inner.unsafe(statement)).count }))).count;
  } catch (error) {
    const { sqlstate, message } = await refusalOf(Promise.reject(error));
    return sqlstate === "42501" ? "refused" : message;
  }
}

const INSERTS: Record<string, () => string> = {
  projects: () => `insert into keyframe.projects (title, text_prompt) values ('t', 'p')`,
  films: () => `insert into keyframe.films (title) values ('t')`,
  predictions: () => `insert into keyframe.predictions (project_id, step) values ('${owner.project}', 'first-frame')`,
};

describe.each(Object.entries(EXPECTED))("keyframe.%s", (name, access) => {
  test.each(Object.entries(access) as [Who, Access][])("as %s → %j", async (who, { select, insert, change }) => {
    const table = `keyframe.${name}`;
    const sub = who === "owner" ? owner.owner : who === "other" ? other.owner : undefined;
    await rolledBack(db.sql, async (sql) => {
      const all = (await sql.unsafe(`select from ${table}`)).count;
      const owned = name === "models" || name === "step_defaults" ? "" : `where owner_id = '${sub ?? owner.owner}'`;
      const own = (await sql.unsafe(`select from ${table} ${owned}`)).count;
      if (owned) expect([own > 0, own < all]).toEqual([true, true]);
      const rows = { refused: "refused", own, all };
      const role = sub ? "authenticated" : who;
      await sql`select set_config('request.jwt.claims', ${JSON.stringify({ role, sub })}, true)`;
      await sql.unsafe(`set local role ${role}`);
      expect(await outcomeOf(sql, `select * from ${table}`)).toBe(rows[select]);
      const column = { projects: "title", films: "title", models: "model", step_defaults: "model" }[name] ?? "owner_id";
      expect(await outcomeOf(sql, `update ${table} set ${column} = ${column} where true`)).toBe(rows[change]);
      expect(await outcomeOf(sql, `delete from ${table} where true`)).toBe(rows[change]);
      const row = INSERTS[name]?.() ?? `insert into ${table} default values`;
      expect(await outcomeOf(sql, row)).toBe(insert === "goes in" ? 1 : insert);
    });
  });
});

test("every table and view of our schemas → has row-level security; a view the rights of who looks", async () => {
  const tables = await db.sql<{ name: string; secured: boolean }[]>`
    select oid::regclass::text as name,
      case relkind when 'v' then coalesce(reloptions @> '{security_invoker=true}', false) else relrowsecurity end as secured
    from pg_class
    where relnamespace::regnamespace::text in ('keyframe', 'keyframe_worker', 'keyframe_private') and relkind in ('r', 'p', 'v', 'm', 'f')`;
  expect(tables.filter(({ secured }) => !secured)).toEqual([]);
  const exposed = tables.map(({ name }) => name).filter((name) => name.startsWith("keyframe."));
  expect(exposed.toSorted()).toEqual(
    Object.keys(EXPECTED)
      .map((name) => `keyframe.${name}`)
      .toSorted(),
  );
});

test("the policies → are these and no others", async () => {
  const rows = await db.sql`
    select tablename || '.' || policyname as policy, cmd, roles::text[] as roles from pg_policies
    where schemaname in ('keyframe', 'keyframe_worker', 'keyframe_private', 'storage') order by 1`;
  expect(rows.map(({ policy, cmd, roles }) => `${policy} ${cmd} ${roles}`)).toEqual([
    "films.films_delete_owner DELETE authenticated",
    "films.films_insert_owner INSERT authenticated",
    "films.films_select_owner SELECT authenticated",
    "films.films_update_owner UPDATE authenticated",
    "models.models_select_everyone SELECT authenticated",
    "objects.keyframe_outputs_select_owner SELECT authenticated",
    "objects.keyframe_references_insert_owner INSERT authenticated",
    "objects.keyframe_references_select_owner SELECT authenticated",
    "predictions.predictions_insert_owner INSERT authenticated",
    "predictions.predictions_select_owner SELECT authenticated",
    "projects.projects_delete_owner DELETE authenticated",
    "projects.projects_insert_owner INSERT authenticated",
    "projects.projects_select_owner SELECT authenticated",
    "projects.projects_update_owner UPDATE authenticated",
    "step_defaults.step_defaults_select_everyone SELECT authenticated",
    "webhook_attempts.webhook_attempts_select_owner SELECT authenticated",
    "webhook_deliveries.webhook_deliveries_select_owner SELECT authenticated",
    "webhook_endpoints.webhook_endpoints_select_owner SELECT authenticated",
    "webhook_events.webhook_events_select_owner SELECT authenticated",
  ]);
});

test("a table that a later migration creates in our schemas → is closed until it grants access", async () => {
  await rolledBack(db.sql, async (sql) => {
    await sql`select set_config('role', tableowner, true) from pg_tables where schemaname = 'keyframe' and tablename = 'projects'`;
    await sql.unsafe(`
      create table keyframe.later (id bigserial);
      create table keyframe_worker.later (id int);
      create table keyframe_private.later (id int)`);
    const open = await sql`
      select role, s as schema from unnest(array['anon', 'authenticated', 'service_role']) as role,
        unnest(array['keyframe', 'keyframe_worker', 'keyframe_private']) as s
      where has_table_privilege(role, s || '.later', 'select, insert, update, delete')
        or has_sequence_privilege(role, 'keyframe.later_id_seq', 'usage, select, update')`;
    expect([...open]).toEqual([]);
  });
});
