import { expect, test } from "vitest";
import type { Model } from "../../../client/index.ts";
import type { StepOptions } from "../../../dashboard/src/queries/plan-edits.ts";
import { framesOf } from "../../../dashboard/src/step-settings/step-setup.ts";
import { STEPS } from "../../../shared/contract/fields.ts";
import { FAILURE_CODES, type FailureCode } from "../../../shared/contract/predictions.ts";
import { planOfStep } from "../../../shared/contract/projects.ts";
import { EVENT_TYPES } from "../../../shared/contract/webhooks.ts";
import { isErrorCode } from "../../../shared/http/errors.ts";
import { NO_CONTROLS } from "../../../shared/replicate/build-input.ts";
import { COMMON_LIMITS } from "../../../shared/worker/limits.ts";
import { IMAGE_LIMIT_BYTES } from "../../../shared/api/http/request-body.ts";
import { MAX_OUTPUT_BYTES } from "../../../supabase/functions/keyframe-generate/files/open-output.ts";
import { GENERATE_LIMITS } from "../../../supabase/functions/keyframe-generate/tasks/run-task.ts";
import { DELIVER_LIMITS } from "../../../supabase/functions/keyframe-deliver/deliveries/delivery-work.ts";
import { useDatabase } from "../../support/database/clone-database.ts";

// Rules that Postgres and TypeScript both need: each is written once on either side, and these tests compare the two.
const db = useDatabase();

test("the types of events in SQL → equal those of the contract, and webhook.test", async () => {
  const [row] = await db.sql<{ types: string[] }[]>`select keyframe_private.event_types() as types`;
  expect(row?.types).toEqual([...EVENT_TYPES, "webhook.test"]);
});

test("the lease of a task in SQL → outlasts its work; a worker's capacity in SQL → equals what it may have open", async () => {
  const [row] = await db.sql<{ lease: number; generate: number; deliver: number }[]>`
    select 1000 * extract(epoch from least(keyframe_private.lease_of('ask'), keyframe_private.lease_of('copy')))::int as lease,
      keyframe_private.capacity_of('ask') + keyframe_private.capacity_of('copy') as generate, keyframe_private.capacity_of('deliver') as deliver`;
  expect(row).toMatchObject({ generate: GENERATE_LIMITS.maxOpen, deliver: DELIVER_LIMITS.maxOpen });
  expect(row?.lease).toBeGreaterThan(GENERATE_LIMITS.workMs + COMMON_LIMITS.abortGraceMs);
});

test("every error that a SQL function raises → has a code of the API", async () => {
  const codes = await db.sql<{ code: string; name: string }[]>`
    select distinct found[1] as code, p.oid::regproc::text as name
    from pg_proc p, regexp_matches(p.prosrc, $$raise_(?:error[(]|if[(][^;]*?,)[[:space:]]*'([a-z_]+)',$$, 'g') as found
    where p.pronamespace::regnamespace::text like 'keyframe%'`;
  expect(codes.length).toBeGreaterThan(20);
  expect(codes.filter(({ code }) => !isErrorCode(code))).toEqual([]);
});

test("every code with which a SQL function fails a prediction → is one of the contract", async () => {
  const codes = await db.sql<{ code: FailureCode; name: string }[]>`
    select distinct found[1] as code, p.oid::regproc::text as name
    from pg_proc p, regexp_matches(p.prosrc, $$mark_failed[(][a-z_.]+, '([a-z_]+)'$$, 'g') as found
    where p.pronamespace::regnamespace::text like 'keyframe%'`;
  expect(codes.length).toBeGreaterThan(10);
  expect(codes.filter(({ code }) => !FAILURE_CODES.includes(code))).toEqual([]);
});

test("the buckets' limits on file size → equal those of the functions that fill them", async () => {
  const limits =
    await db.sql`select id, file_size_limit::int as bytes from storage.buckets where id in ('projects', 'keyframe-outputs') order by id`;
  expect([...limits]).toEqual([
    { id: "keyframe-outputs", bytes: MAX_OUTPUT_BYTES },
    { id: "projects", bytes: IMAGE_LIMIT_BYTES },
  ]);
});

test.each(STEPS)("the fields of a plan for the %s → equal those of the contract", async (step) => {
  const [row] = await db.sql<{ fields: string[] }[]>`select keyframe_private.planned_fields(${step}) as fields`;
  const offered = Object.entries(planOfStep[step].shape).flatMap(([name, field]) =>
    field.meta()?.description === "This step does not have this field." ? [] : [name],
  );
  expect(row?.fields.toSorted()).toEqual(offered.toSorted());
});

test("the fields of images in SQL → those that a provider's input has no control for", async () => {
  const [row] = await db.sql<{ fields: string[] }[]>`select keyframe_private.image_fields() as fields`;
  expect(row?.fields).toEqual(NO_CONTROLS);
});

test("a video's frames by the dashboard, for each kind of model and plan → those that fit_frames leaves", async () => {
  const noFirst = { firstFramePredictionId: null };
  const noLast = { lastFramePredictionId: null };
  const continues = { continuesPreviousShot: true };
  const plans: StepOptions[] = [{}, noFirst, noLast, { ...noFirst, ...noLast }, continues, { ...continues, ...noLast }];
  const firsts = [{}, { firstFrame: {} }, { firstFrame: { required: true } }];
  const needs = ["firstFrame"];
  const lasts = [
    {},
    ...[{}, { needs }, { required: true }, { needs, required: true }].map((lastFrame) => ({ lastFrame })),
  ];
  const models: Model["controls"][] = firsts.flatMap((first) =>
    lasts.flatMap((last) => [{}, { aspectRatio: {} }].map((ratio) => ({ ...first, ...last, ...ratio }))),
  );
  const cases = [{}, { model: "maker/model" }].flatMap((chosen) =>
    models.flatMap((controls) => plans.map((plan) => ({ controls, plan: { ...plan, ...chosen } }))),
  );
  const rows = await db.sql<{ first: boolean; last: boolean }[]>`
    select fitted -> 'firstFramePredictionId' is distinct from 'null' as first, fitted -> 'lastFramePredictionId' is distinct from 'null' as last
    from jsonb_array_elements(${db.sql.json(cases)}) with ordinality c (one, place),
      keyframe_private.fit_frames(one -> 'plan', '{}', jsonb_populate_record(null::keyframe.models, one), one -> 'plan' ? 'model') fitted
    order by place`;
  const ofDashboard = cases.map(({ controls, plan }) => ({ ...framesOf(controls, plan), controls, plan }));
  expect(ofDashboard).toEqual(rows.map((row, at) => ({ ...row, ...cases[at] })));
});
