import type { TransactionSql } from "postgres";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { refusalOf } from "../support/database/refusal.ts";

// Each column by itself, tried as each role in Postgres. What rows a role sees: rest-tricks.test.ts.

/** What a role of the Data API may do with the columns of a table, as space-separated names; "*" stands for all of them. */
type Rights = { select?: string; insert?: string; update?: string; delete?: true };

/** A table: every column it has, and who may do what. `anon` may do nothing with any of them. */
type TableRights = { columns: string; authenticated: Rights; service_role: Rights };

const NOTHING: Rights = {};
const internal = (columns: string): TableRights => ({ columns, authenticated: NOTHING, service_role: NOTHING });
const readOnly = (columns: string): TableRights => ({
  columns,
  authenticated: { select: "*" },
  service_role: { select: "*" },
});

/**
 * The specification: every column of every table of our schemas. A column that is not here fails the tests, so that
 * a new column needs a decision who may read and write it. Which rows a role sees is another matter: rest-tricks.test.ts.
 */
const TABLES: Record<string, TableRights> = {
  "keyframe.projects": {
    columns:
      "id owner_id title text_prompt description reference_image_path aspect_ratio selected_first_frame_id selected_last_frame_id " +
      "selected_video_id created_at updated_at film_id film_position",
    authenticated: {
      select: "*",
      insert: "title text_prompt description aspect_ratio film_id",
      update:
        "title text_prompt description reference_image_path aspect_ratio selected_first_frame_id selected_last_frame_id selected_video_id film_id",
      delete: true,
    },
    service_role: { select: "*" },
  },
  "keyframe.films": {
    columns: "id owner_id title description created_at updated_at",
    authenticated: {
      select: "*",
      insert: "title description",
      update: "title description",
      delete: true,
    },
    service_role: { select: "*" },
  },
  "keyframe.predictions": {
    columns:
      "id project_id owner_id step status is_active input model requested_model provider_prediction_id attempt failures retry_reason lease_token admitted_at " +
      "next_attempt_at deadline_at progress provider_output_url error_code error_message error_retryable error_stage output_path " +
      "output_content_type output_bytes output_sha256 output_width output_height output_duration_seconds output_has_audio hidden started_by_server created_at " +
      "started_at completed_at updated_at",
    authenticated: {
      select: "*",
      insert: "project_id step input model",
    },
    service_role: { select: "*" },
  },
  "keyframe.models": readOnly(
    "step model label vendor enabled position shutdown_at refused_at accepts_faces controls fixed notes billed_when cost_ceiling_micros",
  ),
  "keyframe.step_defaults": readOnly("step model"),
  "keyframe.webhook_endpoints": readOnly(
    "id owner_id url description event_types enabled max_in_flight disabled_at disabled_reason failing_since created_at updated_at",
  ),
  "keyframe.webhook_events": readOnly("id type owner_id project_id prediction_id endpoint_id payload created_at"),
  "keyframe.webhook_deliveries": readOnly(
    "id event_id endpoint_id owner_id event_type status attempts retries_from next_attempt_at last_attempt_at " +
      "last_status_code last_error created_at completed_at",
  ),
  "keyframe.webhook_attempts": readOnly(
    "id delivery_id owner_id attempt started_at duration_ms status_code error response_excerpt",
  ),
  "keyframe_private.admin_queue": internal(
    "prediction_id owner_id project_id step model status why since_created since_changed queue_position attempt failures " +
      "retry_reason next_attempt_at leased_until deadline_at provider_prediction_id",
  ),
  "keyframe_private.admin_usage": internal(
    "month day owner_id step started succeeded failed canceled active submits provider_runs stored_bytes",
  ),
  "keyframe_private.admin_webhook_health": internal(
    "endpoint_id owner_id url description event_types enabled disabled_at disabled_reason failing_since delivered retrying " +
      "exhausted due oldest_due_at last_attempt_at last_error last_error_status last_error_at",
  ),
  "keyframe_private.admin_costs": internal("day owner_id step model predictions settled_usd held_usd unknown_usd"),
  "keyframe_private.daily_costs": internal(
    "id owner_id day step model predictions settled_micros unknown_micros unknown_submits is_merged",
  ),
  "keyframe_private.costs": internal(
    "owner_id day step model predictions held_micros settled_micros unknown_micros unknown_submits",
  ),
  "keyframe_private.owner_budgets": internal("owner_id day_micros month_micros note"),
  "keyframe_private.exhausted_budgets": internal("owner_id period resets_at limit_micros refused_at"),
  "keyframe_private.model_prices": internal("id model applies_to metric price_usd valid_from source checked_at"),
  "keyframe_private.deleted_endpoints": internal("endpoint_id deleted_at"),
  "keyframe_private.lanes": internal("id due_at served_at token"),
  "keyframe_private.lane_arrivals": internal("id lane_id"),
  "keyframe_private.file_removals": internal(
    "bucket name prediction_id due_at writer_lease_token lease_token failures",
  ),
  "keyframe_private.idempotency_keys": internal("resource_id owner_id key request_hash answer created_at"),
  "keyframe_private.installation": internal("version migrations installed_at"),
  "keyframe_private.kicks": internal("id function_name made_at request_id error acknowledged_at"),
  "keyframe_private.worker_heartbeats": internal("function_name alive_until claimed_at report"),
  "keyframe_private.prediction_images": internal("prediction_id role position path source_prediction_id"),
  "keyframe_private.prediction_moves": internal("from_status to_status"),
  "keyframe_private.provider_callbacks": internal("callback_id received_at"),
  "keyframe_private.provider_submits": internal(
    "id owner_id project_id prediction_id attempt is_first step model created_at submitted_at answered_at ended_at outcome is_unanswered " +
      "provider_prediction_id search_due_at search_task text_hash cancel_due_at cancel_failures metrics " +
      "price_ids most_micros cost_micros cost_state",
  ),
  "keyframe_private.rate_buckets": internal("owner_id route_class tokens refilled_at"),
  "keyframe_private.rate_limits": internal("route_class capacity per_second"),
  "keyframe_private.settings": internal(
    "only_row max_active_per_owner max_failures frame_deadline video_deadline poll_interval retry_base retry_max " +
      "unused_references_after webhook_retry_schedule webhook_disable_after webhook_retention " +
      "owner_day_micros owner_month_micros service_day_micros service_month_micros spending_stopped",
  ),
  "keyframe_private.webhook_hours": internal(
    "endpoint_id hour delivered retrying exhausted last_attempt_at last_status_code last_error failed_at " +
      "failed_status_code failed_error",
  ),
  "keyframe_private.webhook_secrets": internal("id endpoint_id vault_secret_id created_at expires_at"),
};

const VERBS = ["select", "insert", "update"] as const;
type Verb = (typeof VERBS)[number];
const ROLES = ["anon", "authenticated", "service_role"] as const;
type Role = (typeof ROLES)[number];

const columnsOf = ({ columns }: TableRights): string[] => columns.split(" ").toSorted();

/** The columns a role may use a verb on, sorted. */
function permitted(table: TableRights, role: Role, verb: Verb): string[] {
  const listed = role === "anon" ? undefined : table[role][verb];
  return listed === "*" ? columnsOf(table) : (listed?.split(" ") ?? []).toSorted();
}

const mayDelete = (table: TableRights, role: Role): boolean => role !== "anon" && table[role].delete === true;

const db = useDatabase();

/** Privileges are checked before the first row, so a statement without rows shows them. `text` casts to anything. */
const STATEMENT: Record<Verb, (table: string, column: string, type: string) => string> = {
  select: (table, column) => `select ${column} from ${table} limit 0`,
  insert: (table, column, type) => `insert into ${table} (${column}) select null::${type} where false`,
  update: (table, column, type) => `update ${table} set ${column} = null::${type} where false`,
};

type Column = { table: string; kind: string; column: string; type: string };

const catalogue = () => db.sql<Column[]>`
  select n.nspname || '.' || c.relname as table, c.relkind as kind, a.attname as column, format_type(a.atttypid, a.atttypmod) as type
  from pg_attribute a
  join pg_class c on c.oid = a.attrelid
  join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('keyframe', 'keyframe_worker', 'keyframe_private') and c.relkind in ('r', 'p', 'v', 'm', 'f') and a.attnum > 0 and not a.attisdropped
  order by 1, 2`;

test("every column of every table and view → stands in the specification", async () => {
  const found: Record<string, string[]> = {};
  for (const { table, column } of await catalogue()) found[table] = [...(found[table] ?? []), column].toSorted();
  expect(found).toEqual(Object.fromEntries(Object.entries(TABLES).map(([name, table]) => [name, columnsOf(table)])));
});

async function isAllowed(sql: TransactionSql, statement: string): Promise<boolean> {
  const tried = sql.savepoint((inner) => inner.unsafe(statement));
  return await tried.then(
    () => true,
    async (error) => {
      const { sqlstate, message } = await refusalOf(Promise.reject(error));
      // What Postgres numbers itself, and a view of more than one table, is written by nobody: said before grants are looked at.
      if (["428C9", "55000", "0A000"].includes(sqlstate)) return false;
      expect([statement, sqlstate, message]).toEqual([statement, "42501", expect.stringMatching(/^permission denied/)]);
      return false;
    },
  );
}

describe.each(ROLES)("as %s", (role) => {
  test.each(Object.entries(TABLES))(
    "%s → each column can be used as specified and not otherwise",
    async (name, table) => {
      const columns = (await catalogue()).filter((one) => one.table === name);
      await db.as({ role, sub: crypto.randomUUID() }, async (sql) => {
        for (const verb of VERBS) {
          const allowed: string[] = [];
          for (const { column, type } of columns) {
            if (await isAllowed(sql, STATEMENT[verb](name, column, type))) allowed.push(column);
          }
          expect([verb, allowed.toSorted()]).toEqual([verb, permitted(table, role, verb)]);
        }
        expect(await isAllowed(sql, `delete from ${name} where false`)).toBe(mayDelete(table, role));
        if (columns[0]?.kind === "r") expect(await isAllowed(sql, `truncate ${name}`)).toBe(false);
      });
    },
  );
});

test("no table, view or sequence → belongs to a role of the API or is granted with the right to grant on", async () => {
  const rows = await db.sql`
    select c.oid::regclass::text as name from pg_class c
    left join lateral aclexplode(c.relacl) g on true
    where c.relnamespace in ('keyframe'::regnamespace, 'keyframe_worker'::regnamespace, 'keyframe_private'::regnamespace)
      and (g.is_grantable and g.grantee <> c.relowner or g.grantee = 0
        or pg_get_userbyid(c.relowner) in ('anon', 'authenticated', 'service_role', 'authenticator'))`;
  expect([...rows]).toEqual([]);
});

test("publications → carry predictions alone, whose changes Realtime filters by the table's policies", async () => {
  const rows = await db.sql<{ tablename: string }[]>`
    select distinct tablename from pg_publication_tables where schemaname in ('keyframe', 'keyframe_worker', 'keyframe_private')`;
  expect(rows.map(({ tablename }) => tablename)).toEqual(["predictions"]);
});
