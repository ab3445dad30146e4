import type { TransactionSql } from "postgres";
import { describe, expect, test } from "vitest";
import {
  begin,
  callWorker,
  claim,
  claimOnly,
  complete,
  fail,
  providerSays,
  readRow,
  retryLater,
  workOf,
} from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import {
  useWorld,
  columnOf,
  columnsIn,
  outputPathOf,
  isOver,
  type Seeded,
  STATUSES,
  type Status,
  seedPrediction,
  type World,
} from "../../support/database/predictions.ts";
import { refusalOf } from "../../support/database/refusal.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";

/** What a transition function answers, and the status that is there afterwards. */
type Outcome = [answer: unknown, status: Status];
type Attempt = (sql: TransactionSql, seeded: Seeded & { lease: string }, world: World) => Promise<unknown>;
type Over = "succeeded" | "failed" | "canceled";
type Active = Exclude<Status, Over>;

/** The provider says something about the run the prediction follows; about a new run when it follows none. */
const says =
  (status: string): Attempt =>
  (sql, { id, run }) =>
    providerSays(sql, { id, run: run ?? "run-new", status });

const cancel: Attempt = async (sql, { id }, { owner, project }) => {
  await sql`select set_config('request.jwt.claims', ${JSON.stringify({ sub: owner, role: "authenticated" })}, true)`;
  await sql`set local role authenticated`;
  const [row] = await sql`select keyframe.cancel_prediction(${project}, ${id}) as answer`;
  return row?.answer.prediction?.status ?? row?.answer.message;
};
const overdue: Attempt = async (sql, { id }, { owner }) => {
  await sql`update keyframe.predictions set deadline_at = now() - interval '1 second' where id = ${id}`;
  await sql`select keyframe_private.add_work('ask', 'expire', ${id}, ${owner}, 'expire')`;
  const expire = (await claimOnly(sql)).find(({ task }) => task === "expire");
  return expire && (await begin(sql, expire));
};

const move =
  (call: (id: string, sql: TransactionSql) => PromiseLike<Iterable<object | undefined>>): Attempt =>
  async (sql, { id }) =>
    (await columnOf<boolean>(call(id, sql)))[0];

/** In each status that is not an end: the same answer, and it stays or becomes this one. */
const active = (answer: unknown, status?: Status): Record<Active, Outcome> => ({
  queued: [answer, status ?? "queued"],
  starting: [answer, status ?? "starting"],
  processing: [answer, status ?? "processing"],
  storing: [answer, status ?? "storing"],
});
const ended = (answer: unknown = "ended"): Record<Over, Outcome> => ({
  succeeded: [answer, "succeeded"],
  failed: [answer, "failed"],
  canceled: [answer, "canceled"],
});
const stays: Record<Status, Outcome> = { ...active("unchanged"), ...ended() };
const runFailed = { ...active("recorded", "failed"), storing: stays.storing, ...ended() };

/** The specification: what each function answers in each status, and what the status is then. */
const EXPECTED: Record<string, [Attempt, Record<Status, Outcome>]> = {
  claim_tasks: [
    async (sql, { id }) => (await claim(sql)).find((task) => task.id === id)?.task ?? "nothing",
    { ...active("poll"), queued: ["submit", "queued"], storing: ["store", "storing"], ...ended("nothing") },
  ],
  "report_run: starting": [says("starting"), { ...stays, queued: ["recorded", "starting"] }],
  "report_run: processing": [
    says("processing"),
    { ...stays, queued: ["recorded", "processing"], starting: ["recorded", "processing"] },
  ],
  "report_run: succeeded": [
    says("succeeded"),
    { ...active("recorded", "storing"), storing: stays.storing, ...ended() },
  ],
  "report_run: failed": [says("failed"), runFailed],
  "report_run: failed, the images could not be read": [
    (sql, { id, run }) =>
      providerSays(sql, { id, run: run ?? "run-new", status: "failed", failure: "input_unreachable" }),
    { ...active("recorded", "queued"), storing: stays.storing, ...ended() },
  ],
  "report_run: canceled": [says("canceled"), runFailed],
  "report_run: aborted": [says("aborted"), runFailed],
  complete_prediction: [
    (sql, { id, lease }) => complete(sql, id, lease),
    { ...active(false), storing: [true, "succeeded"], ...ended(false) },
  ],
  fail_prediction: [(sql, { id, lease }) => fail(sql, id, lease), { ...active(true, "failed"), ...ended(false) }],
  retry_prediction_later: [
    (sql, { id, lease }) => retryLater(sql, id, lease),
    { ...active("later"), ...ended("too_late") },
  ],
  cancel_prediction: [
    cancel,
    { ...active("canceled", "canceled"), ...ended("generation_ended"), canceled: ["canceled", "canceled"] },
  ],
  "mark_failed, by an administrator": [
    move((id, sql) => sql`select keyframe_private.mark_failed(${id}, 'failed_by_administrator', 'Ended.', true)`),
    { ...active(true, "failed"), ...ended(false) },
  ],
  mark_queued_again: [
    move((id, sql) => sql`select keyframe_private.mark_queued_again(${id}, 'provider_failed', 9)`),
    { ...active(true, "queued"), storing: [false, "storing"], ...ended(false) },
  ],
  expire_prediction: [overdue, { ...active(null, "failed"), ...ended(null) }],
};

/** Forward, storing before succeeded, no way out of an end; back only to be submitted again. */
const LEGAL: Record<Status, Status[]> = {
  queued: ["starting", "processing", "storing", "failed", "canceled"],
  starting: ["queued", "processing", "storing", "failed", "canceled"],
  processing: ["queued", "storing", "failed", "canceled"],
  storing: ["succeeded", "failed", "canceled"],
  succeeded: [],
  failed: [],
  canceled: [],
};

const db = useDatabase();
const world = useWorld(db);

describe.each(Object.entries(EXPECTED))("the transition by %s", (_name, [attempt, outcomes]) => {
  test.each(STATUSES.map((from) => [from, ...outcomes[from]] as const))(
    "a %s prediction → %s, then %s",
    async (from, answer, status) => {
      await rolledBack(db.sql, async (sql) => {
        const seeded = await seedPrediction(sql, world, { status: from });
        const given = await attempt(sql, { ...seeded, lease: seeded.lease ?? crypto.randomUUID() }, world);
        await sql`reset role`;
        const [row] =
          await sql`select status, completed_at is not null as over from keyframe.predictions where id = ${seeded.id}`;
        expect([given, row?.status]).toEqual([answer, status]);
        expect(row?.over).toBe(isOver(status));
      });
    },
  );
});

test.each([
  ["fail_prediction", { code: "provider_rejected_input", retryable: false }],
  ["retry_prediction_later", { code: "provider_unavailable" }],
  ["record_model_refused", { attempt_without_run: 1 }],
])(
  "%s with the lease of one prediction and the id of another → only the one of the lease fails",
  async (name, args) => {
    await rolledBack(db.sql, async (sql) => {
      const columns = { failures: 7, requested_model: "google/nano-banana" };
      const [leased, other] = [
        await seedPrediction(sql, world, { columns }),
        await seedPrediction(sql, world, { columns }),
      ];
      const [work] = await workOf(sql, leased.id);
      const lease = { work_id: work?.id, lease_token: work?.lease_token };
      await callWorker(sql, name, { ...lease, prediction_id: other.id, message: "It did not work.", ...args });
      const status = async ({ id }: Seeded) => (await readRow(sql, id)).status;
      expect([await status(leased), await status(other)]).toEqual(["failed", "queued"]);
    });
  },
);

test.each(STATUSES)(
  "a plain update of a %s prediction to each status → accepted if the move is legal, else refused, even for a superuser",
  async (from) => {
    for (const to of STATUSES) {
      if (from === to && isOver(from)) continue; // ended-predictions.test.ts
      await rolledBack(db.sql, async (sql) => {
        const { id } = await seedPrediction(sql, world, { status: from });
        // Every other column fits the new status, so only the move itself can be refused.
        const update = sql.savepoint(
          (inner) =>
            inner`update keyframe.predictions set ${inner(columnsIn(to, "first-frame", outputPathOf(id, world)))} where id = ${id}`,
        );
        if (from === to || LEGAL[from].includes(to)) return void (await update);
        const { sqlstate, message } = await refusalOf(update);
        expect([sqlstate, message]).toEqual(["23514", `A prediction cannot move from ${from} to ${to}.`]);
      });
    }
  },
);
