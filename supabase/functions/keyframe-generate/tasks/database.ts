import { z } from "zod";
import type { CallDatabase } from "../../../../shared/platform/call-database.ts";
import type { Log } from "../../../../shared/platform/log.ts";
import type { ProviderPrediction } from "../../../../shared/replicate/provider-prediction.ts";
import { type Found, reportRun } from "../../../../shared/replicate/report-run.ts";
import type { OutputSource } from "../files/open-output.ts";
import type { Storage, StoredFile } from "../files/storage.ts";
import type { Provider } from "../provider/provider.ts";
import type { Reason, RetryReason } from "../provider/provider-error.ts";
import { files, type PredictionTask, type SubmitTask, submit, type Lease } from "./task.ts";

const refused = z.enum(["moved", "failed", "too_late"]);

/** `run` is set for a submit: `none` if it was refused or not sent, `possible` if no answer came, so that its run must be searched for. */
type RetryDetails = { retryAfterSeconds?: number | null; run?: "none" | "possible" };

/**
 * The SQL functions of the tasks. Each is one transition; false or too_late means that the row has changed meanwhile. All throw
 * DatabaseError. `callOnce` begins work: a locked row is retried later, without a lease. `call` records results, and retries while rows are
 * locked. `pollSeconds` is the interval of polls. Null means the database's default, which assumes callbacks.
 */
export function createDatabase(callOnce: CallDatabase, call: CallDatabase, pollSeconds: number | null) {
  const leaseOf = ({ work_id, lease_token }: Lease) => ({ work_id, lease_token });
  const prediction = (task: PredictionTask) => ({ ...leaseOf(task), prediction_id: task.id });
  return {
    /** Records a submit before it is sent. Returns null if there is nothing to submit any more. */
    async beginSubmit(task: Lease): Promise<SubmitTask | null> {
      const begun = submit.nullable().parse(await callOnce("begin_submit", leaseOf(task)));
      return begun && { ...begun, ...leaseOf(task), task: "submit" };
    },
    /**
     * `lease` belongs to the submit, poll or cancel that got this result. The result ends that work or schedules the next poll. `found` is
     * set if the run was found in the provider's list.
     */
    reportRun: (of: { id: string; attempt: number }, run: ProviderPrediction, lease: Lease | null, found?: Found) =>
      reportRun(call, run, {
        prediction_id: of.id,
        attempt: of.attempt,
        ...found,
        ...(lease && { ...leaseOf(lease), poll_seconds: pollSeconds }),
      }),
    /** `is_unknown`: the provider no longer has the run. Otherwise canceling is retried later. */
    async recordRunNotCanceled(task: Lease, is_unknown: boolean): Promise<void> {
      await call("record_run_not_canceled", { ...leaseOf(task), is_unknown });
    },
    /** Returns the next files of the task's owner, or null if there are none. */
    beginRemoval: async (task: Lease) => files.nullable().parse(await callOnce("begin_removal", leaseOf(task))),
    /** `refused` are the task's files that Storage did not remove; they are retried later. */
    async recordFilesRemoved(task: Lease, refused: StoredFile[]): Promise<void> {
      await call("record_files_removed", { ...leaseOf(task), refused });
    },
    /**
     * Ends the search for the submits from first to last. `is_unproven`: a run in the list may belong to one of them. `lease` belongs to the
     * search. Returns whether the submit after the last is still to be sent.
     */
    async recordSearchEnded(
      prediction_id: string,
      first_attempt: number,
      last_attempt: number,
      is_unproven: boolean,
      lease: Lease | null,
    ): Promise<boolean> {
      const ended = { prediction_id, first_attempt, last_attempt, is_unproven };
      return z.boolean().parse(await call("record_search_ended", { ...ended, ...(lease && leaseOf(lease)) }));
    },
    async expire(task: Lease): Promise<void> {
      await callOnce("expire_prediction", leaseOf(task));
    },
    async admit(task: Lease): Promise<void> {
      await callOnce("admit_predictions", leaseOf(task));
    },
    /** Retries work of any kind that could not be done. The prediction stays as it is. */
    async retryWork(task: Lease, code: string): Promise<void> {
      await callOnce("retry_work", { ...leaseOf(task), code });
    },
    complete: async (task: PredictionTask, output: StoredOutput) =>
      z.boolean().parse(await call("complete_prediction", { ...leaseOf(task), ...output })),
    /** A submit that fails was refused or not sent, so it has no run. */
    async fail(task: PredictionTask, reason: Reason, { retryable }: { retryable: boolean }) {
      const attempt_without_run = task.task === "submit" ? task.attempt : null;
      const failure = { ...prediction(task), ...reason, retryable, attempt_without_run };
      return z.boolean().parse(await call("fail_prediction", failure));
    },
    /**
     * Retries the task later, with the reason's code in `work.last_error`. The prediction fails after too many failed submits, or if the
     * next one does not fit the budget.
     */
    async retryPrediction(
      task: PredictionTask,
      reason: RetryReason,
      { retryAfterSeconds = null, run }: RetryDetails = {},
    ): Promise<void> {
      const failure = {
        ...prediction(task),
        ...reason,
        retry_after_seconds: retryAfterSeconds,
        attempt_without_run: run === "none" ? task.attempt : null,
        unanswered_attempt: run === "possible" ? task.attempt : null,
      };
      await call("retry_prediction_later", failure);
    },
    /** Records that the provider does not have the task's model. The prediction then moves to another model, or fails. */
    async modelRefused(task: PredictionTask, message: string) {
      const refusal = { ...prediction(task), message, attempt_without_run: task.attempt };
      return refused.parse(await call("record_model_refused", refusal));
    },
  };
}
export type Database = ReturnType<typeof createDatabase>;

/** A checked file in Storage, as complete_prediction takes it. A null field is unknown, or does not apply to the file. */
export type StoredOutput = {
  output_path: string;
  content_type: string;
  bytes: number;
  sha256: string;
  width: number | null;
  height: number | null;
  duration_seconds: number | null;
  has_audio: boolean | null;
};

/** The dependencies of the tasks. */
export type Deps = {
  database: Database;
  provider: Provider;
  storage: Storage;
  outputs: OutputSource;
  /** The URL at which the provider reaches the platform for callbacks and input files; null when it cannot. */
  publicUrl: string | null;
  platformUrl: string;
  log: Log;
  /** Milliseconds since 1970. */
  now(): number;
};
