import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { type SeedOptions, seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { refusalOf } from "../../support/database/refusal.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";

const someId = crypto.randomUUID();

/** Per rule of predictions a row that breaks it and nothing else. */
const BROKEN_PREDICTIONS: Record<string, SeedOptions> = {
  prompt_has_1_to_4000_characters: { input: { prompt: "x".repeat(4001) } },
  prompt_has_a_visible_character: { input: { prompt: "\u200b" } },
  negative_prompt_is_plain_text: { input: { prompt: "x", negativePrompt: "a\u001b[2J" } },
  negative_prompt_has_a_visible_character: { input: { prompt: "x", negativePrompt: " " } },
  prompt_is_plain_text: { input: { prompt: "a\u001b[2J" } },
  // A row whose images cannot be read would stop the claims of everybody.
  reference_images_are_a_list: { input: { referenceImagePaths: JSON.parse("null") } },
  frames_are_predictions: { step: "video", input: { firstFramePredictionId: "x" } },
  first_frame_builds_on_no_frame: { input: { firstFramePredictionId: someId } },
  only_video_has_a_last_frame: { step: "last-frame", input: { lastFramePredictionId: someId } },
  attempt_is_at_most_a_million: { columns: { attempt: 2_147_483_647 } },
  progress_is_a_fraction: { status: "processing", columns: { progress: 1.01 } },
  queued_if_and_only_if_no_provider_run_accepted: { status: "starting", columns: { provider_prediction_id: null } },
  started_at_is_set_once_it_ran: { status: "processing", columns: { started_at: null } },
  without_a_slot_only_until_it_ends: { status: "storing", columns: { admitted_at: null, deadline_at: null } },
  deadline_if_and_only_if_admitted: { columns: { deadline_at: null } },
  storing_has_an_output_url: { status: "storing", columns: { provider_output_url: null } },
  completed_at_if_and_only_if_ended: { columns: { completed_at: new Date() } },
  output_if_and_only_if_succeeded: { status: "succeeded", columns: { output_sha256: null } },
  output_path_is_its_own: { status: "succeeded", columns: { output_path: `${someId}/${someId}/${someId}.png` } },
  output_facts_only_if_succeeded: { status: "failed", columns: { output_has_audio: true } },
  end_image_only_of_a_finished_video: { status: "succeeded", columns: { end_image_path: "projects/a.png" } },
  not_admitted_while_it_waits_for_another: { status: "queued", columns: { waits_for: crypto.randomUUID() } },
  output_has_both_sides_or_none: { status: "succeeded", columns: { output_width: null } },
  output_is_exact_in_json: { status: "succeeded", columns: { output_bytes: String(2 ** 53) } },
  error_stage_only_of_rejected_content: { status: "failed", columns: { error_stage: "input" } },
  error_if_and_only_if_failed: { status: "failed", columns: { error_retryable: null } },
};

const submit = (columns: string, values: string) =>
  `insert into keyframe_private.provider_submits (owner_id, project_id, prediction_id, attempt, step, model, ${columns})
    values ($owner, gen_random_uuid(), gen_random_uuid(), 1, 'video', 'a/b', ${values})`;

const credit = (values: string) =>
  `insert into keyframe_private.credits (owner_id, micros, kind, key, note) values ($owner, ${values})`;
const element = (columns: string, values: string) =>
  `insert into keyframe.elements (owner_id, kind, ${columns}) values ($owner, 'prop', ${values})`;

const userKey = (column: string, value: string) => {
  const row = { client_id: "'kf_0123456789abcdef'", name: "'A script'", secret_hash: "sha256('')", [column]: value };
  return `insert into keyframe_private.allowed_clients (owner_id, may, ${Object.keys(row)}) values ($owner, 'read', ${Object.values(row)})`;
};

/** The rules of the other tables: a statement that breaks each. `$owner` stands for a user. */
const BROKEN_ELSEWHERE: Record<string, string> = {
  title_has_1_to_200_characters: `insert into keyframe.projects (owner_id, title, text_prompt) values ($owner, '', 'x')`,
  text_prompt_has_1_to_4000_characters: `insert into keyframe.projects (owner_id, title, text_prompt) values ($owner, 'x', repeat('x', 4001))`,
  description_has_at_most_4000_characters: `insert into keyframe.projects (owner_id, title, text_prompt, description) values ($owner, 'x', 'x', repeat('x', 4001))`,
  title_has_a_visible_character: `insert into keyframe.projects (owner_id, title, text_prompt) values ($owner, ' ', 'x')`,
  title_is_one_line: `insert into keyframe.projects (owner_id, title, text_prompt) values ($owner, E'x\\ny', 'x')`,
  text_prompt_has_a_visible_character: `insert into keyframe.projects (owner_id, title, text_prompt) values ($owner, 'x', ' ')`,
  text_prompt_is_plain_text: `insert into keyframe.projects (owner_id, title, text_prompt) values ($owner, 'x', E'x\\by')`,
  description_is_plain_text: `insert into keyframe.projects (owner_id, title, text_prompt, description) values ($owner, 'x', 'x', E'x\\by')`,
  one_shot_per_position_of_a_film: `with film as (insert into keyframe.films (owner_id, title) values ($owner, 'x') returning id, owner_id)
    insert into keyframe.projects (owner_id, title, text_prompt, film_id, film_position) select owner_id, 'x', 'x', id, 1 from film, generate_series(1, 2)`,
  position_if_and_only_if_in_a_film: `insert into keyframe.projects (owner_id, title, text_prompt, film_position) values ($owner, 'x', 'x', 1)`,
  model_is_owner_slash_name: `update keyframe.models set model = 'veo-3.1' where model = 'google/veo-3.1'`,
  settings_only_row_check: `insert into keyframe_private.settings (only_row) values (false)`,
  settings_max_calls_per_owner_check: `update keyframe_private.settings set max_calls_per_owner = 0`,
  settings_max_active_per_owner_check: `update keyframe_private.settings set max_active_per_owner = 0`,
  settings_max_failures_check: `update keyframe_private.settings set max_failures = 101`,
  settings_frame_deadline_check: `update keyframe_private.settings set frame_deadline = '0'`,
  aspect_ratio_is_width_to_height: `insert into keyframe.projects (owner_id, title, text_prompt, aspect_ratio) values ($owner, 'x', 'x', '16/9')`,
  times_are_in_years_of_four_digits: `insert into keyframe.projects (owner_id, title, text_prompt, created_at) values ($owner, 'x', 'x', 'infinity')`,
  role_is_known: `insert into keyframe_private.prediction_images (prediction_id, role) values (gen_random_uuid(), 'cover')`,
  uploaded_image_is_in_projects: `insert into keyframe_private.prediction_images (prediction_id, role, path) values (gen_random_uuid(), 'reference', 'keyframe-outputs/a.png')`,
  uploaded_or_generated: `insert into keyframe_private.prediction_images (prediction_id, role, path, source_prediction_id) values (gen_random_uuid(), 'reference', 'projects/a.png', gen_random_uuid())`,
  settings_video_deadline_check: `update keyframe_private.settings set video_deadline = '11 years'`,
  settings_poll_interval_check: `update keyframe_private.settings set poll_interval = '0'`,
  settings_retry_base_check: `update keyframe_private.settings set retry_base = '0'`,
  settings_check: `update keyframe_private.settings set retry_max = retry_base / 2`,
  settings_unused_references_after_check: `update keyframe_private.settings set unused_references_after = '0'`,
  outcome_if_and_only_if_ended: submit("ended_at", "now()"),
  outcome_is_known: submit("ended_at, outcome", "now(), 'paid'"),
  provider_run_is_an_answer: submit("provider_prediction_id", "'run'"),
  search_only_while_unanswered: submit("search_task", "'{}'"),
  metrics_are_an_object: submit("metrics", "'[]'"),
  price_ids_are_a_list: submit("price_ids", "'{{1}}'"),
  project_ids_are_a_list: `insert into keyframe_private.quotes (owner_id, project_ids, step, requested_input, digest, most_charge_micros)
    values ($owner, array[array[gen_random_uuid()]], 'video', '{}', '', 1)`,
  amounts_are_at_most_a_million_dollars: submit("most_micros", "-1"),
  cost_if_and_only_if_settled: submit("cost_micros", "1"),
  cost_state_is_known: submit("cost_state", "'free'"),
  markup_is_between_0_and_10: submit("markup", "'NaN'"),
  billed_when_says_yes_no_or_unknown: `update keyframe.models set billed_when = '{"failed": "no", "rejected": "no", "canceled": "maybe"}' where model = 'google/veo-3.1'`,
  cost_ceiling_is_at_most_a_million_dollars: `update keyframe.models set cost_ceiling_micros = -1 where model = 'google/veo-3.1'`,
  price_is_between_0_and_1000: `insert into keyframe_private.model_prices (model, metric, price_usd, source) values ('google/veo-3.1', 'run', -1, 'x')`,
  checked_at_is_in_a_year_of_four_digits: `insert into keyframe_private.model_prices (model, metric, price_usd, source, checked_at) values ('google/veo-3.1', 'run', 1, 'x', 'infinity')`,
  source_is_not_empty: `insert into keyframe_private.model_prices (model, metric, price_usd, source) values ('google/veo-3.1', 'run', 1, ' ')`,
  owner_day_is_exact_in_json: `update keyframe_private.settings set owner_day_micros = 9007199254740993`,
  owner_month_is_exact_in_json: `update keyframe_private.settings set owner_month_micros = 9007199254740993`,
  service_day_is_exact_in_json: `update keyframe_private.settings set service_day_micros = 9007199254740993`,
  service_month_is_exact_in_json: `update keyframe_private.settings set service_month_micros = 9007199254740993`,
  balance_low_is_exact_in_json: `update keyframe_private.settings set balance_low_micros = 9007199254740993`,
  amount_is_exact_in_json: credit("9007199254740993, 'grant', 'k', null"),
  kind_is_known: credit("1, 'gift', 'k', null"),
  sign_is_that_of_the_kind: credit("-1, 'purchase', 'k', null"),
  key_has_1_to_255_visible_characters: credit("1, 'grant', '', null"),
  key_opening_is_that_of_the_first_adjustment: credit("1, 'grant', 'opening', null"),
  note_has_at_most_500_characters: credit("1, 'grant', 'k', repeat('x', 501)"),
  owner_budgets_day_micros_check: `insert into keyframe_private.owner_budgets (owner_id, day_micros) values ($owner, 9007199254740993)`,
  owner_budgets_month_micros_check: `insert into keyframe_private.owner_budgets (owner_id, month_micros) values ($owner, 9007199254740993)`,
  kick_is_made_or_failed: `insert into keyframe_private.kicks (function_name) values ('a')`,
  label_is_not_empty: `update keyframe.models set label = ' ' where model = 'google/veo-3.1'`,
  vendor_is_not_empty: `update keyframe.models set vendor = '' where model = 'google/veo-3.1'`,
  accepts_faces_is_known: `update keyframe.models set accepts_faces = 'perhaps' where model = 'google/veo-3.1'`,
  output_is_path: `update keyframe.models set output = 'a..b' where model = 'google/veo-3.1'`,
  client_id_is_not_empty: `insert into keyframe_private.allowed_clients (client_id, name, may) values (' ', 'An app', 'read')`,
  name_is_not_empty: `insert into keyframe_private.allowed_clients (client_id, name, may) values ('app', ' ', 'read')`,
  secret_hash_is_sha256: userKey("secret_hash", "'\\x00'"),
  key_has_an_owner_and_a_secret: userKey("client_id", "'app'"),
  key_name_is_one_line_of_at_most_80: userKey("name", "repeat('x', 81)"),
  version_is_three_numbers: `insert into keyframe_private.installation (version) values ('1.0')`,
  rate_limits_capacity_check: `update keyframe_private.rate_limits set capacity = 0`,
  rate_limits_per_second_check: `update keyframe_private.rate_limits set per_second = 0`,
  idempotency_keys_key_check: `insert into keyframe_private.idempotency_keys (owner_id, key, request_hash, resource_id) values ($owner, 'a b', repeat('a', 64), gen_random_uuid())`,
  idempotency_keys_request_hash_check: `insert into keyframe_private.idempotency_keys (owner_id, key, request_hash, resource_id) values ($owner, 'a', 'A', gen_random_uuid())`,
  url_is_http_without_user_or_fragment: `insert into keyframe.webhook_endpoints (url) values ('ftp://example.com/hook')`,
  description_has_at_most_500_characters: `insert into keyframe.webhook_endpoints (url, description) values ('https://example.com', repeat('x', 501))`,
  description_is_one_line: `insert into keyframe.webhook_endpoints (url, description) values ('https://example.com', E'x\\ny')`,
  event_types_are_known: `insert into keyframe.webhook_endpoints (url, event_types) values ('https://example.com', '{project.created,project.deleted}')`,
  event_types_are_a_list_without_excess: `insert into keyframe.webhook_endpoints (url, event_types) values ('https://example.com', '{{project.created}}')`,
  webhook_retry_schedule_is_a_list_of_intervals: `update keyframe_private.settings set webhook_retry_schedule = '{{5 s,5 min}}'`,
  settings_webhook_disable_after_check: `update keyframe_private.settings set webhook_disable_after = '300000 years'`,
  settings_webhook_retention_check: `update keyframe_private.settings set webhook_retention = '-1 day'`,
  element_ids_are_a_list: `set local session_replication_role = replica; insert into keyframe.films (owner_id, title, element_ids) values ($owner, 'x', array[array[gen_random_uuid()]])`,
  name_has_1_to_60_characters: element("name", "repeat('x', 61)"),
  name_has_a_visible_character: element("name", "chr(8203)"),
  name_is_one_line: element("name", "e'a\\nb'"),
  name_has_no_at_and_no_space_around_it: element("name", "'a@b'"),
  text_has_at_most_1000_characters: element("name, text", "'x', repeat('x', 1001)"),
  text_is_plain_text: element("name, text", "'x', chr(27)"),
  element_has_at_most_8_images: `set local session_replication_role = replica; ${element("name, image_paths", "'x', array_fill('projects/a.png'::text, array[9])")}`,
  attempts_are_at_most_a_million: `insert into keyframe.webhook_deliveries (event_id, endpoint_id, event_type, attempts) values (gen_random_uuid(), gen_random_uuid(), 'webhook.test', 2147483647)`,
  max_in_flight_is_1_to_100: `insert into keyframe.webhook_endpoints (url, max_in_flight) values ('https://example.com', 0)`,
  // The trigger that keeps the three columns together is passed by, as a restore of a dump would.
  disabled_if_and_only_if_not_enabled: `set local session_replication_role = replica; insert into keyframe.webhook_endpoints (url, enabled) values ('https://example.com', false)`,
  disabled_reason_is_known: `insert into keyframe.webhook_endpoints (url, enabled, disabled_reason) values ('https://example.com', false, 'bored')`,
  type_is_known: `insert into keyframe.webhook_events (type, payload) values ('project.deleted', '{}')`,
  payload_has_at_most_20_kb: `insert into keyframe.webhook_events (type, payload) values ('webhook.test', to_json(repeat('x', 19999)))`,
  completed_at_if_and_only_if_not_pending: `insert into keyframe.webhook_deliveries (event_id, endpoint_id, event_type, status) values (gen_random_uuid(), gen_random_uuid(), 'webhook.test', 'delivered')`,
  error_or_status: `insert into keyframe.webhook_attempts (delivery_id, attempt, started_at, duration_ms) values (gen_random_uuid(), 1, now(), 1)`,
  response_excerpt_has_at_most_1_kib: `insert into keyframe.webhook_attempts (delivery_id, attempt, started_at, duration_ms, status_code, response_excerpt) values (gen_random_uuid(), 1, now(), 1, 200, repeat('x', 1023) || 'é')`,
};

const db = useDatabase();
const world = useWorld(db);

describe("a row that breaks a constraint", () => {
  test.each(Object.entries(BROKEN_PREDICTIONS))(
    "a prediction that breaks %s → refused by this constraint",
    async (name, options) => {
      await rolledBack(db.sql, async (sql) => {
        expect((await refusalOf(sql.savepoint((inner) => seedPrediction(inner, world, options)))).constraint).toBe(
          name,
        );
      });
    },
  );

  test.each(Object.entries(BROKEN_ELSEWHERE))(
    "a row that breaks %s → refused by this constraint",
    async (name, statement) => {
      await rolledBack(db.sql, async (sql) => {
        const text = statement.replaceAll("$owner", `'${world.owner}'`);
        expect((await refusalOf(sql.savepoint((inner) => inner.unsafe(text)))).constraint).toBe(name);
      });
    },
  );
});

test("every check, exclusion and input rule in our schemas → is broken once by the tests above", async () => {
  const rows = await db.sql<{ name: string }[]>`
    select distinct conname as name from pg_constraint -- the texts of films have the checks of those of projects: texts.test.ts
    where contype in ('c', 'x') and connamespace in ('keyframe'::regnamespace, 'keyframe_worker'::regnamespace, 'keyframe_private'::regnamespace)`;
  const ofInputs = await db.sql<{ name: string }[]>`
    select (regexp_matches(prosrc, 'then ''(\\w+)''', 'g'))[1] as name from pg_proc where proname = 'require_valid_input'`;
  const covered = [...Object.keys(BROKEN_PREDICTIONS), ...Object.keys(BROKEN_ELSEWHERE)].sort();
  expect([...rows, ...ofInputs].map(({ name }) => name).sort()).toEqual(covered);
});

const RECEIVER = "https://receiver.example";
const PAIR = "{project.created,generation.failed}";
/** Lists with a gap or within another, what is too long, no address, or no time in JSON. */
const WRONG: Record<string, string[]> = {
  "insert into keyframe.webhook_endpoints (url) values ($value)": [
    ...[
      "",
      "receiver.example",
      "https://",
      "https://user:pass@receiver.example",
      `${RECEIVER}/#top`,
      `${RECEIVER}/a b`,
    ],
    `${RECEIVER}/${"x".repeat(2048)}`,
  ],
  "insert into keyframe.webhook_endpoints (url, event_types) values ('https://example.com', $value)": [
    ...["{{project.created}}", `{${PAIR},${PAIR}}`, "{null}", "{project.created,null}"],
    `{${Array(8).fill("project.created")}}`,
  ],
  "update keyframe_private.settings set webhook_retry_schedule = $value": [
    ...["{{5 s}}", "{{5 s,5 min},{5 s,5 min}}", "{null}", "{5 s,null}", "{5 s,0}", "[0:1]={5 s,5 min}"],
  ],
  "update keyframe.models set model = $value where model = 'google/veo-3.1'": [`a/${"b".repeat(199)}`],
  "update keyframe.models set billed_when = $value where model = 'google/veo-3.1'": [
    ...['{"failed": "no", "rejected": "no"}', '{"failed": "no", "rejected": "no", "canceled": true}'],
    '{"failed": "no", "rejected": "no", "canceled": "no", "aborted": "no"}',
  ],
  "insert into keyframe_private.model_prices (model, metric, price_usd, source) values ('google/veo-3.1', 'run', $value, 'x')":
    ["-0.01", "1001", "NaN"],
  "update keyframe.models set shutdown_at = $value where model = 'google/veo-3.1'": ["-infinity", "12026-01-01"],
  [`set local session_replication_role = replica; insert into keyframe.predictions (project_id, owner_id, step, model, input)
    values (gen_random_uuid(), gen_random_uuid(), 'first-frame', 'a/b', jsonb_build_object('prompt', 'x', 'referenceImagePaths', $value::jsonb))`]:
    ["null", "{}", "[7]", "[null]", '[["projects/a.png"]]'],
};

test.each(Object.entries(WRONG))("%s, with values that no column may have → refused", async (statement, values) => {
  for (const value of values)
    await rolledBack(db.sql, async (sql) => {
      const text = statement.replace("$value", `'${value}'`);
      const { sqlstate } = await refusalOf(sql.savepoint((inner) => inner.unsafe(text)));
      expect(sqlstate, value).toBe("23514");
    });
});

test("every array column → has a check of its dimensions", async () => {
  const columns = await db.sql<{ name: string; checked: boolean }[]>`
    select a.attname as name, exists (
      select from pg_constraint c
      where c.conrelid = a.attrelid and c.contype = 'c' and pg_get_constraintdef(c.oid) like '%array_ndims(' || a.attname || ')%') as checked
    from pg_attribute a join pg_class t on t.oid = a.attrelid join pg_type y on y.oid = a.atttypid
    where t.relkind = 'r' and t.relnamespace::regnamespace::text like 'keyframe%' and a.attnum > 0
      and not a.attisdropped and y.typcategory = 'A' order by 1`;
  const names = [
    "element_ids",
    "element_ids",
    "event_types",
    "image_paths",
    "price_ids",
    "project_ids",
    "webhook_retry_schedule",
  ];
  expect(columns).toEqual(names.map((name) => ({ name, checked: true })));
});

test("every time in the API's answers → has a check of its years: other years have no form in JSON", async () => {
  const columns = await db.sql<{ name: string }[]>`
    select t.relname || '.' || a.attname as name
    from pg_attribute a join pg_class t on t.oid = a.attrelid
    where t.relkind = 'r' and t.relnamespace = 'keyframe'::regnamespace and a.atttypid = 'timestamptz'::regtype and not exists (
      select from pg_constraint c
      where c.conrelid = t.oid and c.conname = 'times_are_in_years_of_four_digits' and a.attnum = any (c.conkey))
    order by 1`;
  expect(columns.map(({ name }) => name)).toEqual([
    "models.refused_at",
    ...["admitted_at", "deadline_at", "updated_at"].map((column) => `predictions.${column}`),
    "projects.deleted_at",
    "webhook_events.created_at",
  ]);
});
