import { z } from "zod";
import type { CallDatabase } from "../../../../shared/platform/call-database.ts";
import type { Log } from "../../../../shared/platform/log.ts";
import {
  type Found,
  type ProviderPrediction,
  recordProviderState,
} from "../../../../shared/replicate/provider-prediction.ts";
import type { OutputSource } from "../files/open-output.ts";
import type { Storage, StoredFile } from "../files/storage.ts";
import type { Provider } from "../provider/provider.ts";
import type { Reason } from "../provider/provider-error.ts";
import type { LeasedTask } from "./task.ts";

const refused = z.enum(["moved", "failed", "too_late"]);

type RetryDetails = { retryAfterSeconds?: number | null; hasNoRun?: boolean };

/**
 * The SQL functions of the tasks. Each is one transition; false or too_late means that the row has changed meanwhile. All throw
 * DatabaseError. `pollSeconds`: the interval of polls; null for the database's own, which assumes callbacks.
 */
export function createDatabase(call: CallDatabase, pollSeconds: number | null) {
  const lease = ({ id, lease_token }: LeasedTask) => ({ prediction_id: id, lease_token });
  const withoutRun = ({ attempt }: LeasedTask, hasNoRun: boolean) => ({
    attempt_without_run: hasNoRun ? attempt : null,
  });
  return {
    /** `found` is set for a run that was found in the provider's list. */
    recordState: ({ id, attempt }: { id: string; attempt: number }, run: ProviderPrediction, found?: Found) =>
      recordProviderState(call, run, { prediction_id: id, attempt, poll_after_seconds: pollSeconds, ...found }),
    /** `is_unknown`: the provider has no such run any more. Otherwise it is cancelled again later. */
    async recordRunNotCanceled(provider_prediction_id: string, is_unknown: boolean): Promise<void> {
      await call("record_run_not_canceled", { provider_prediction_id, is_unknown });
    },
    /** `refused` are the task's files that Storage did not remove; they are tried again later. */
    async recordFilesRemoved(lease_token: string, refused: StoredFile[]): Promise<void> {
      await call("record_files_removed", { lease_token, refused });
    },
    /** Of the submits from first to last; `is_unproven`: a run in the list may be one of them. */
    async recordSearchEnded(
      prediction_id: string,
      first_attempt: number,
      last_attempt: number,
      is_unproven: boolean,
    ): Promise<void> {
      await call("record_search_ended", { prediction_id, first_attempt, last_attempt, is_unproven });
    },
    complete: async (task: LeasedTask, output: StoredOutput) =>
      z.boolean().parse(await call("complete_prediction", { ...lease(task), ...output })),
    /** `hasNoRun`: the submit of this task was refused, or not sent. Otherwise its run may exist, and is searched for. */
    async fail(task: LeasedTask, reason: Reason, retryable: boolean, hasNoRun = false) {
      const failure = { ...lease(task), ...reason, retryable, ...withoutRun(task, hasNoRun) };
      return z.boolean().parse(await call("fail_prediction", failure));
    },
    async retryLater(
      task: LeasedTask,
      reason: Reason,
      { retryAfterSeconds = null, hasNoRun = false }: RetryDetails = {},
    ): Promise<void> {
      const failure = {
        ...lease(task),
        ...reason,
        retry_after_seconds: retryAfterSeconds,
        ...withoutRun(task, hasNoRun),
      };
      await call("retry_prediction_later", failure);
    },
    /** The provider does not have the task's model: the prediction has moved to another, or failed. */
    modelRefused: async (task: LeasedTask, message: string) =>
      refused.parse(await call("record_model_refused", { ...lease(task), message, ...withoutRun(task, true) })),
    async pollLater(task: LeasedTask): Promise<void> {
      await call("poll_prediction_later", { ...lease(task), after_seconds: pollSeconds });
    },
  };
}
export type Database = ReturnType<typeof createDatabase>;

/** A checked file in Storage, as complete_prediction takes it. Null: unknown, or it has none. */
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
