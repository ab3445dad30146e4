import type { TransactionSql } from "postgres";
import { beforeAll, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import {
  addWorld,
  type Seeded,
  STATUSES,
  type Status,
  seedPrediction,
  type World,
} from "../support/database/predictions.ts";
import { refusalOf } from "../support/database/refusal.ts";
import { rolledBack } from "../support/database/rolled-back.ts";

/** What a transition function answers, and the status that is there afterwards. */
type Outcome = [answer: unknown, status: Status];
type Attempt = (sql: TransactionSql, seeded: Seeded, world: World) => Promise<unknown>;

const asService: (attempt: Attempt) => Attempt = (attempt) => async (sql, seeded, world) => {
  await sql`set local role service_role`;
  return await attempt(sql, seeded, world);
};

/** The provider says something about the run the prediction follows; about a new run when it follows none. */
const providerSays = (status: string): Attempt =>
  asService(async (sql, { id, run }) => {
    const [row] = await sql`
      select keyframe_worker.record_provider_state(
        prediction_id => ${id}, attempt => 1, provider_prediction_id => ${run ?? "run-new"}, provider_status => ${status},
        output_url => ${status === "succeeded" ? "https://replicate.delivery/out.png" : null}) as answer`;
    return row?.answer;
  });

const ATTEMPTS = {
  claim_predictions: asService(async (sql, { id }) => {
    const rows =
      await sql`select t ->> 'task' as task from keyframe_worker.claim_predictions(10, 60) t where t ->> 'id' = ${id}`;
    return rows[0]?.task ?? "nothing";
  }),
  "record_provider_state: starting": providerSays("starting"),
  "record_provider_state: processing": providerSays("processing"),
  "record_provider_state: succeeded": providerSays("succeeded"),
  "record_provider_state: failed": providerSays("failed"),
  "record_provider_state: canceled": providerSays("canceled"),
  "record_provider_state: aborted": providerSays("aborted"),
  complete_prediction: asService(async (sql, { id, lease }) => {
    const [row] = await sql`
      select keyframe_worker.complete_prediction(
        ${id}, ${lease ?? crypto.randomUUID()}, 'owner/project/prediction.png', 'image/png', 1024, ${"a".repeat(64)}, 640, 360) as answer`;
    return row?.answer;
  }),
  fail_prediction: asService(async (sql, { id, lease }) => {
    const [row] = await sql`
      select keyframe_worker.fail_prediction(${id}, ${lease ?? crypto.randomUUID()}, 'output_invalid', 'It is no image.', false) as answer`;
    return row?.answer;
  }),
  retry_prediction_later: asService(async (sql, { id, lease }) => {
    const [row] = await sql`
      select keyframe_worker.retry_prediction_later(${id}, ${lease ?? crypto.randomUUID()}, 'provider_unavailable', 'Away.') as answer`;
    return row?.answer;
  }),
  poll_prediction_later: asService(async (sql, { id, lease }) => {
    const [row] =
      await sql`select keyframe_worker.poll_prediction_later(${id}, ${lease ?? crypto.randomUUID()}) as answer`;
    return row?.answer;
  }),
  cancel_prediction: async (sql, { id }, { owner, project }) => {
    await sql`select set_config('request.jwt.claims', ${JSON.stringify({ sub: owner, role: "authenticated" })}, true)`;
    await sql`set local role authenticated`;
    return await sql
      .savepoint(async (inner) => {
        const [row] =
          await inner`select keyframe.cancel_prediction(${project}, ${id}) -> 'prediction' ->> 'status' as answer`;
        return { answer: row?.answer };
      })
      .then(
        ({ answer }) => answer,
        async (error) => (await refusalOf(Promise.reject(error))).message,
      );
  },
  fail_overdue: async (sql, { id }) => {
    await sql`update keyframe.predictions set deadline_at = now() - interval '1 second' where id = ${id}`;
    const [row] = await sql`select keyframe_private.fail_overdue() as answer`;
    return row?.answer;
  },
} satisfies Record<string, Attempt>;

const ended: Record<"succeeded" | "failed" | "canceled", Outcome> = {
  succeeded: ["ended", "succeeded"],
  failed: ["ended", "failed"],
  canceled: ["ended", "canceled"],
};
/** Nothing is due, held or running once a prediction is over. */
const refused = (answer: unknown): Record<"succeeded" | "failed" | "canceled", Outcome> => ({
  succeeded: [answer, "succeeded"],
  failed: [answer, "failed"],
  canceled: [answer, "canceled"],
});
const runFailed: Record<Status, Outcome> = {
  queued: ["recorded", "failed"],
  starting: ["recorded", "failed"],
  processing: ["recorded", "failed"],
  storing: ["unchanged", "storing"],
  ...ended,
};

/** The specification: what each function answers in each status, and what the status is then. */
const EXPECTED: Record<keyof typeof ATTEMPTS, Record<Status, Outcome>> = {
  claim_predictions: {
    queued: ["submit", "queued"],
    starting: ["poll", "starting"],
    processing: ["poll", "processing"],
    storing: ["store", "storing"],
    ...refused("nothing"),
  },
  "record_provider_state: starting": {
    queued: ["recorded", "starting"],
    starting: ["unchanged", "starting"],
    processing: ["unchanged", "processing"],
    storing: ["unchanged", "storing"],
    ...ended,
  },
  "record_provider_state: processing": {
    queued: ["recorded", "processing"],
    starting: ["recorded", "processing"],
    processing: ["unchanged", "processing"],
    storing: ["unchanged", "storing"],
    ...ended,
  },
  "record_provider_state: succeeded": {
    queued: ["recorded", "storing"],
    starting: ["recorded", "storing"],
    processing: ["recorded", "storing"],
    storing: ["unchanged", "storing"],
    ...ended,
  },
  "record_provider_state: failed": runFailed,
  "record_provider_state: canceled": runFailed,
  "record_provider_state: aborted": runFailed,
  complete_prediction: {
    queued: [false, "queued"],
    starting: [false, "starting"],
    processing: [false, "processing"],
    storing: [true, "succeeded"],
    ...refused(false),
  },
  fail_prediction: {
    queued: [true, "failed"],
    starting: [true, "failed"],
    processing: [true, "failed"],
    storing: [true, "failed"],
    ...refused(false),
  },
  retry_prediction_later: {
    queued: ["later", "queued"],
    starting: ["later", "starting"],
    processing: ["later", "processing"],
    storing: ["later", "storing"],
    ...refused("too_late"),
  },
  poll_prediction_later: {
    queued: [true, "queued"],
    starting: [true, "starting"],
    processing: [true, "processing"],
    storing: [true, "storing"],
    ...refused(false),
  },
  cancel_prediction: {
    queued: ["canceled", "canceled"],
    starting: ["canceled", "canceled"],
    processing: ["canceled", "canceled"],
    storing: ["canceled", "canceled"],
    succeeded: ["generation_ended", "succeeded"],
    failed: ["generation_ended", "failed"],
    canceled: ["canceled", "canceled"],
  },
  fail_overdue: {
    queued: [1, "failed"],
    starting: [1, "failed"],
    processing: [1, "failed"],
    storing: [1, "failed"],
    ...refused(0),
  },
};

const db = useDatabase();
let world: World;
beforeAll(async () => {
  world = await addWorld(db);
});

describe.each(Object.entries(ATTEMPTS))("%s", (name, attempt) => {
  for (const from of STATUSES) {
    // The name is a key of ATTEMPTS, which Object.entries widens to string.
    const [answer, status] = EXPECTED[name as keyof typeof ATTEMPTS][from];
    test(`of a ${from} prediction → ${answer}, ${status}`, async () => {
      await rolledBack(db.sql, async (sql) => {
        const seeded = await seedPrediction(sql, world, { status: from });
        const given = await attempt(sql, seeded, world);
        await sql`reset role`;
        const [row] =
          await sql`select status, completed_at is not null as over from keyframe.predictions where id = ${seeded.id}`;
        expect([given, row?.status]).toEqual([answer, status]);
        expect(row?.over).toBe(["succeeded", "failed", "canceled"].includes(status));
      });
    });
  }
});
