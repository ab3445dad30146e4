import type { TransactionSql } from "postgres";
import { beforeAll, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { addWorld, seedPrediction, type World } from "../support/database/predictions.ts";
import { refusalOf } from "../support/database/refusal.ts";
import { rolledBack } from "../support/database/rolled-back.ts";
import { addEndpoint, seedDeliveries, sendNext } from "../support/database/webhooks.ts";

type Who = "anon" | "owner" | "other" | "service_role";
type Verb = "select" | "insert" | "update" | "delete";
/**
 * select: which rows are seen. update, delete: which rows; refused where nothing is said. insert: whether a row of the first
 * user goes in; refused by row-level security and by a missing grant have the same code (42501).
 */
type Access = {
  select: "refused" | "none" | "own" | "all";
  insert: "refused" | "not_found" | "goes in";
  update?: "own";
  delete?: "own";
};
const NOTHING: Access = { select: "refused", insert: "refused" };
const nobody: Record<Who, Access> = { anon: NOTHING, owner: NOTHING, other: NOTHING, service_role: NOTHING };

/** Written by functions alone; who owns a row may read it. */
const readOwn: Record<Who, Access> = {
  anon: NOTHING,
  owner: { select: "own", insert: "refused" },
  other: { select: "own", insert: "refused" },
  service_role: { select: "all", insert: "refused" },
};

/** The specification. Every table of our schemas has a row. */
const EXPECTED: Record<string, Record<Who, Access>> = {
  "keyframe.projects": {
    anon: NOTHING,
    owner: { select: "own", insert: "goes in", update: "own", delete: "own" },
    other: { select: "own", insert: "goes in", update: "own", delete: "own" }, // under the own name: the owner cannot be chosen
    service_role: { select: "all", insert: "refused" },
  },
  "keyframe.predictions": {
    anon: NOTHING,
    owner: { select: "own", insert: "goes in" },
    other: { select: "own", insert: "not_found" }, // the project is not theirs
    service_role: { select: "all", insert: "refused" },
  },
  "keyframe.models": {
    anon: NOTHING,
    owner: { select: "all", insert: "refused" },
    other: { select: "all", insert: "refused" },
    service_role: { select: "all", insert: "refused" },
  },
  "keyframe_private.admin_queue": nobody,
  "keyframe_private.admin_usage": nobody,
  "keyframe_private.admin_webhook_health": nobody,
  "keyframe_private.deleted_endpoints": nobody,
  "keyframe_private.lanes": nobody,
  "keyframe_private.file_removals": nobody,
  "keyframe_private.idempotency_keys": nobody,
  "keyframe_private.installation": nobody,
  "keyframe_private.last_kicks": nobody,
  "keyframe_private.worker_heartbeats": nobody,
  "keyframe_private.prediction_moves": nobody,
  "keyframe_private.provider_callbacks": nobody,
  "keyframe_private.provider_runs": nobody,
  "keyframe_private.rate_buckets": nobody,
  "keyframe_private.rate_limits": nobody,
  "keyframe_private.settings": nobody,
  "keyframe_private.text_submits": nobody,
  "keyframe_private.unanswered_submits": nobody,
  "keyframe_private.webhook_hours": nobody,
  "keyframe_private.webhook_secrets": nobody,
  "keyframe.webhook_attempts": readOwn,
  "keyframe.webhook_deliveries": readOwn,
  "keyframe.webhook_endpoints": readOwn,
  "keyframe.webhook_events": readOwn,
};

const INSERT_COLUMNS: Record<string, string[]> = {
  "keyframe.projects": ["description", "text_prompt", "title"],
  "keyframe.predictions": [
    "duration_seconds",
    "first_frame_prediction_id",
    "last_frame_prediction_id",
    "project_id",
    "prompt",
    "reference_image_path",
    "step",
  ].sort(),
};

const UPDATE_COLUMNS: Record<string, string[]> = {
  "keyframe.projects": [
    "description",
    "reference_image_path",
    "selected_first_frame_id",
    "selected_last_frame_id",
    "text_prompt",
    "title",
  ],
};

const db = useDatabase();
let owner: World;
let other: World;
beforeAll(async () => {
  owner = await addWorld(db);
  other = await addWorld(db);
  await seedPrediction(db.sql, owner, { status: "succeeded" });
  await seedPrediction(db.sql, owner);
  await seedPrediction(db.sql, other, { status: "processing" });
  // A service-wide endpoint is nobody's, its deliveries and attempts too.
  for (const of of [owner.owner, other.owner, null]) {
    const endpoint = await addEndpoint(db.sql, of);
    await seedDeliveries(db.sql, endpoint, 1);
    await sendNext(db.sql, { status_code: 500 });
  }
});

/** Becomes somebody for the rest of the transaction, as PostgREST does. */
async function become(sql: TransactionSql, who: Who): Promise<void> {
  const sub = who === "owner" ? owner.owner : who === "other" ? other.owner : undefined;
  const role = sub ? "authenticated" : who;
  await sql`select set_config('request.jwt.claims', ${JSON.stringify({ role, ...(sub ? { sub } : {}) })}, true)`;
  await sql.unsafe(`set local role ${role}`);
}

async function outcomeOf(sql: TransactionSql, statement: string): Promise<string | number> {
  try {
    return (await sql.savepoint(async (inner) => ({ count: (await inner.unsafe(statement)).count }))).count;
  } catch (error) {
    const { sqlstate, message } = await refusalOf(Promise.reject(error));
    // The last two: a view that nobody writes through, whatever was granted.
    return ["42501", "55000", "42809"].includes(sqlstate)
      ? "refused"
      : sqlstate === "KEYFR"
        ? message
        : `${sqlstate} ${message}`;
  }
}

async function rowsThere(sql: TransactionSql, table: string, who: Who): Promise<{ all: number; own: number }> {
  const sub = who === "owner" ? owner.owner : other.owner;
  const all = (await sql.unsafe(`select from ${table}`)).count;
  const owned = Object.values(EXPECTED[table] ?? {}).some(({ select }) => select === "own");
  return { all, own: owned ? (await sql.unsafe(`select from ${table} where owner_id = '${sub}'`)).count : all };
}

const INSERTS: Record<string, () => string> = {
  "keyframe.projects": () => `insert into keyframe.projects (title, text_prompt) values ('t', 'p')`,
  "keyframe.predictions": () =>
    `insert into keyframe.predictions (project_id, step) values ('${owner.project}', 'first-frame')`,
  "keyframe.models": () => `insert into keyframe.models (step, model) values ('first-frame', 'test/model')`,
};

describe.each(Object.entries(EXPECTED))("%s", (table, access) => {
  for (const [name, { select, insert, update = "none", delete: remove = "none" }] of Object.entries(access)) {
    const who = name as Who; // a key of Record<Who, …>, which Object.entries widens to string
    test(`select as ${who} → ${select === "refused" || select === "none" ? select : `${select} rows`}`, async () => {
      await rolledBack(db.sql, async (sql) => {
        const there = await rowsThere(sql, table, who);
        await become(sql, who);
        const seen = await outcomeOf(sql, `select * from ${table}`);
        expect(seen).toBe({ refused: "refused", none: 0, own: there.own, all: there.all }[select]);
        if (select === "own") expect(there.own).toBeLessThan(there.all);
      });
    });

    test(`insert as ${who} → ${insert}`, async () => {
      await rolledBack(db.sql, async (sql) => {
        await become(sql, who);
        const statement = INSERTS[table]?.() ?? `insert into ${table} default values`;
        expect(await outcomeOf(sql, statement)).toBe(insert === "goes in" ? 1 : insert);
      });
    });

    test(`update as ${who} → ${update} rows; delete → ${remove} rows; truncate → refused`, async () => {
      await rolledBack(db.sql, async (sql) => {
        const [column] = await sql<{ name: string }[]>`
          select attname as name from pg_attribute where attrelid = ${table}::regclass and attnum > 0 and attidentity = '' order by attnum limit 1`;
        const { own } = await rowsThere(sql, table, who);
        if (remove === "own") await sql`delete from keyframe.predictions`; // those that run would hold their projects
        await become(sql, who);
        const set = update === "own" ? UPDATE_COLUMNS[table]?.[0] : column?.name;
        expect(await outcomeOf(sql, `update ${table} set ${set} = ${set} where true`)).toBe(
          update === "own" ? own : "refused",
        );
        expect(await outcomeOf(sql, `delete from ${table} where true`)).toBe(remove === "own" ? own : "refused");
        expect(await outcomeOf(sql, `truncate ${table}`)).toBe("refused");
      });
    });
  }
});

const TABLES = `
  select c.oid, n.nspname || '.' || c.relname as name,
    case c.relkind when 'v' then coalesce(c.reloptions @> '{security_invoker=true}', false) else c.relrowsecurity end as secured
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('keyframe', 'keyframe_worker', 'keyframe_private') and c.relkind in ('r', 'p', 'v', 'm', 'f')`;

test("every table and view of our schemas → stands in the matrix above, with row-level security on; a view with the rights of who looks", async () => {
  const tables = await db.sql.unsafe<{ name: string; secured: boolean }[]>(`${TABLES} order by 2`);
  expect(tables.map(({ name }) => name)).toEqual(Object.keys(EXPECTED).sort());
  expect(tables.filter(({ secured }) => !secured)).toEqual([]);
});

test.each(["select", "insert", "update", "delete"] as Verb[])(
  "%s in the catalogue → granted to no role beyond the matrix",
  async (verb) => {
    const anyColumn = verb === "delete" ? "false" : `has_any_column_privilege(r.role, t.oid, '${verb}')`;
    const rows = await db.sql.unsafe<{ name: string; role: string }[]>(`
    select t.name, r.role from (${TABLES}) t cross join unnest(array['anon', 'authenticated', 'service_role']) as r (role)
    where ${anyColumn} or has_table_privilege(r.role, t.oid, '${verb}')
    order by 1, 2`);
    const granted = (table: string, who: Who) => {
      const access = EXPECTED[table]?.[who];
      return verb === "select" || verb === "insert" ? access?.[verb] !== "refused" : access?.[verb] !== undefined;
    };
    const expected = Object.keys(EXPECTED)
      .sort()
      .flatMap((name) => [
        ...(granted(name, "anon") ? [{ name, role: "anon" }] : []),
        ...(granted(name, "owner") ? [{ name, role: "authenticated" }] : []),
        ...(granted(name, "service_role") ? [{ name, role: "service_role" }] : []),
      ]);
    expect([...rows]).toEqual(expected);
  },
);

test.each([
  ["insert", INSERT_COLUMNS],
  ["update", UPDATE_COLUMNS],
])("the columns a user may %s → are these, table by table", async (verb, expected) => {
  const rows = await db.sql.unsafe<{ name: string; columns: string[] }[]>(`
    select t.name, array_agg(a.attname::text order by a.attname::text collate "C") as columns
    from (${TABLES}) t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
    where has_column_privilege('authenticated', t.oid, a.attnum, '${verb}') group by 1`);
  expect(Object.fromEntries(rows.map(({ name, columns }) => [name, columns]))).toEqual(expected);
});

test("the policies → are these and no others", async () => {
  const rows = await db.sql`
    select tablename || '.' || policyname as policy, cmd, roles::text[] as roles from pg_policies
    where schemaname in ('keyframe', 'keyframe_worker', 'keyframe_private') order by 1`;
  expect(rows.map(({ policy, cmd, roles }) => `${policy} ${cmd} ${roles}`)).toEqual([
    "models.models_select_everyone SELECT authenticated",
    "predictions.predictions_insert_owner INSERT authenticated",
    "predictions.predictions_select_owner SELECT authenticated",
    "projects.projects_delete_owner DELETE authenticated",
    "projects.projects_insert_owner INSERT authenticated",
    "projects.projects_select_owner SELECT authenticated",
    "projects.projects_update_owner UPDATE authenticated",
    "webhook_attempts.webhook_attempts_select_owner SELECT authenticated",
    "webhook_deliveries.webhook_deliveries_select_owner SELECT authenticated",
    "webhook_endpoints.webhook_endpoints_select_owner SELECT authenticated",
    "webhook_events.webhook_events_select_owner SELECT authenticated",
  ]);
});

test("a table that a later migration creates in our schemas → is closed until it grants access", async () => {
  await rolledBack(db.sql, async (sql) => {
    const [migrator] = await sql<
      { role: string }[]
    >`select pg_get_userbyid(relowner) as role from pg_class where oid = 'keyframe.projects'::regclass`;
    await sql.unsafe(`
      set local role ${migrator?.role};
      create table keyframe.later (id bigserial);
      create table keyframe_worker.later (id int);
      create table keyframe_private.later (id int)`);
    const [open] = await sql`
      select count(*)::int as doors
      from unnest(array['anon', 'authenticated', 'service_role']) as r
      where has_table_privilege(r, 'keyframe.later', 'select, insert, update, delete')
        or has_sequence_privilege(r, 'keyframe.later_id_seq', 'usage, select, update')
        or has_table_privilege(r, 'keyframe_worker.later', 'select, insert, update, delete')
        or has_table_privilege(r, 'keyframe_private.later', 'select, insert, update, delete')`;
    expect(open).toEqual({ doors: 0 });
  });
});
