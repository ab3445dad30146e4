/** What a role of the Data API may do with the columns of a table, as space-separated names; "*" stands for all of them. */
export type Rights = { select?: string; insert?: string; update?: string; delete?: true };

/** A table: every column it has, and who may do what. `anon` may do nothing with any of them. */
export type TableRights = { columns: string; authenticated: Rights; service_role: Rights };

const NOTHING: Rights = {};
const internal = (columns: string): TableRights => ({ columns, authenticated: NOTHING, service_role: NOTHING });
const readOnly = (columns: string): TableRights => ({
  columns,
  authenticated: { select: "*" },
  service_role: { select: "*" },
});

/**
 * The specification: every column of every table of our schemas. A column that is not here fails the tests, so that
 * a new column needs a decision who may read and write it. Which rows a role sees is another matter: test/db/table-grants.test.ts.
 */
export const TABLES: Record<string, TableRights> = {
  "keyframe.projects": {
    columns:
      "id owner_id title text_prompt description reference_image_path selected_first_frame_id selected_last_frame_id " +
      "created_at updated_at",
    authenticated: {
      select: "*",
      insert: "title text_prompt description",
      update: "title text_prompt description reference_image_path selected_first_frame_id selected_last_frame_id",
      delete: true,
    },
    service_role: { select: "*" },
  },
  "keyframe.predictions": {
    columns:
      "id project_id owner_id step status is_active prompt reference_image_path first_frame_prediction_id last_frame_prediction_id " +
      "duration_seconds model provider_prediction_id attempt failures retry_reason unanswered_since lease_token admitted_at " +
      "next_attempt_at deadline_at progress provider_output_url error_code error_message error_retryable output_path " +
      "output_content_type output_bytes output_sha256 output_width output_height output_duration_seconds created_at " +
      "started_at completed_at updated_at",
    authenticated: {
      select: "*",
      insert:
        "project_id step prompt reference_image_path first_frame_prediction_id last_frame_prediction_id duration_seconds",
    },
    service_role: { select: "*" },
  },
  "keyframe.models": readOnly(
    "step model is_default prompt_field reference_field max_references reference_is_list first_frame_field last_frame_field " +
      "last_frame_needs_first last_frame_extras references_exclude_frames duration_field durations extras notes",
  ),
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
  "keyframe_private.deleted_endpoints": internal("endpoint_id deleted_at"),
  "keyframe_private.lanes": internal("endpoint_id token leased_until held"),
  "keyframe_private.file_removals": internal(
    "bucket name prediction_id due_at writer_lease_token lease_token failures",
  ),
  "keyframe_private.idempotency_keys": internal("resource_id owner_id key request_hash answer created_at"),
  "keyframe_private.installation": internal("version migrations installed_at"),
  "keyframe_private.last_kicks": internal("function_name made_at request_id error acknowledged_at"),
  "keyframe_private.worker_heartbeats": internal("function_name alive_until"),
  "keyframe_private.prediction_moves": internal("from_status to_status"),
  "keyframe_private.provider_callbacks": internal("callback_id received_at"),
  "keyframe_private.provider_runs": internal(
    "provider_prediction_id prediction_id attempt seen_at cancel_due_at cancel_failures",
  ),
  "keyframe_private.rate_buckets": internal("owner_id route_class tokens refilled_at"),
  "keyframe_private.rate_limits": internal("route_class capacity per_second"),
  "keyframe_private.settings": internal(
    "only_row max_active_per_owner max_failures frame_deadline video_deadline poll_interval retry_base retry_max " +
      "unused_references_after webhook_retry_schedule webhook_disable_after webhook_retention",
  ),
  "keyframe_private.text_submits": internal("prediction_id prompt_hash submitted_at"),
  "keyframe_private.unanswered_submits": internal(
    "prediction_id attempt search_task unanswered_since next_search_at deleted_at",
  ),
  "keyframe_private.webhook_hours": internal(
    "endpoint_id hour delivered retrying exhausted last_attempt_at last_status_code last_error failed_at " +
      "failed_status_code failed_error",
  ),
  "keyframe_private.webhook_secrets": internal("id endpoint_id vault_secret_id created_at expires_at"),
};

export const VERBS = ["select", "insert", "update"] as const;
export type Verb = (typeof VERBS)[number];
export const ROLES = ["anon", "authenticated", "service_role"] as const;
export type Role = (typeof ROLES)[number];

export const columnsOf = ({ columns }: TableRights): string[] => columns.split(" ").toSorted();

/** The columns a role may use a verb on, sorted. */
export function permitted(table: TableRights, role: Role, verb: Verb): string[] {
  const listed = role === "anon" ? undefined : table[role][verb];
  return listed === "*" ? columnsOf(table) : (listed?.split(" ") ?? []).toSorted();
}

export const mayDelete = (table: TableRights, role: Role): boolean => role !== "anon" && table[role].delete === true;
