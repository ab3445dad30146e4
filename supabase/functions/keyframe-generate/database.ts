import { z } from "zod";
import type { CallDatabase } from "../../../shared/platform/call-database.ts";
import type { Log } from "../../../shared/platform/log.ts";
import {
  type Found,
  type ProviderPrediction,
  type RecordOutcome,
  recordProviderState,
} from "../../../shared/replicate/provider-prediction.ts";
import type { OutputSource } from "./files/open-output.ts";
import type { Storage, StoredFile } from "./files/storage.ts";
import type { Provider } from "./provider/provider.ts";
import type { Reason } from "./provider/provider-error.ts";
import type { LeasedTask } from "./tasks/task.ts";

/** Longer than a task and the recording of its result may take: work must have stopped when its lease expires. */
export const LEASE_SECONDS = 90;

/** How many tasks of each kind one claim leases. */
const CLAIM_AT_ONCE = 10;

const claimed = z.array(z.looseObject({ task: z.string(), id: z.string() }));
export type Claimed = z.infer<typeof claimed>[number];
const refused = z.enum(["moved", "failed", "too_late"]);
const retried = z.enum(["later", "failed", "too_late"]);

/**
 * The SQL functions of the worker. Each is one transition; false or too_late means that the row has changed meanwhile. All throw
 * DatabaseError.
 */
export type Database = {
  /** Leases due tasks, at most `room` of each kind. With nothing due it may wait up to waitMs for one. */
  claim(
    room: number,
    heartbeatMs: number,
    waitMs: number,
    callMs: number,
  ): Promise<{ items: Claimed[]; more: boolean }>;
  /** `found` is set for a run that was found in the provider's list. */
  recordState(task: { id: string; attempt: number }, run: ProviderPrediction, found?: Found): Promise<RecordOutcome>;
  /** `isUnknown`: the provider has no such run any more. Otherwise it is cancelled again later. */
  recordRunNotCanceled(providerPredictionId: string, isUnknown: boolean): Promise<void>;
  /** `refused` are the task's files that Storage did not remove; they are tried again later. */
  recordFilesRemoved(leaseToken: string, refused: StoredFile[]): Promise<void>;
  /** Of the submits from `first` to `last`; `isUnproven`: a run in the list may be one of them. */
  recordSearchEnded(predictionId: string, first: number, last: number, isUnproven: boolean): Promise<void>;
  complete(task: LeasedTask, output: StoredOutput): Promise<boolean>;
  /** `hasNoRun`: the submit of this task was refused, or not sent. Otherwise its run may exist, and is searched for. */
  fail(task: LeasedTask, reason: Reason, retryable: boolean, hasNoRun?: boolean): Promise<boolean>;
  retryLater(task: LeasedTask, reason: Reason, more?: RetryDetails): Promise<z.infer<typeof retried>>;
  pollLater(task: LeasedTask): Promise<void>;
  /** The provider does not have the task's model: the prediction has moved to another, or failed. */
  modelRefused(task: LeasedTask, message: string): Promise<z.infer<typeof refused>>;
  /** Removes the written file if its prediction ended without it; true if so. Nothing may be written for the task afterwards. */
  discardOutput(task: LeasedTask): Promise<boolean>;
};

export type RetryDetails = { retryAfterSeconds?: number | null; hasNoRun?: boolean };

/** `pollSeconds`: the interval of polls; null for the database's own, which assumes callbacks. */
export function createDatabase(call: CallDatabase, pollSeconds: number | null): Database {
  const lease = ({ id, lease_token }: LeasedTask) => ({ prediction_id: id, lease_token });
  const attemptWithoutRun = ({ attempt }: LeasedTask, hasNoRun: boolean) => ({
    attempt_without_run: hasNoRun ? attempt : null,
  });
  return {
    claim: async (room, heartbeatMs, waitMs, callMs) => {
      // Without room it is a heartbeat only.
      const max_rows = Math.min(room, CLAIM_AT_ONCE);
      const report = { callMs: Math.round(callMs) };
      const limits = { max_rows, lease_seconds: LEASE_SECONDS, heartbeat_ms: heartbeatMs, wait_ms: waitMs, report };
      const items = claimed.parse(await call("claim_predictions", limits));
      return { items, more: items.length > 0 };
    },
    recordState: ({ id: predictionId, attempt }, run, found) =>
      recordProviderState(call, { predictionId, attempt, run, found, pollAfterSeconds: pollSeconds }),
    recordRunNotCanceled: async (provider_prediction_id, is_unknown) =>
      void (await call("record_run_not_canceled", { provider_prediction_id, is_unknown })),
    recordFilesRemoved: async (lease_token, refused) =>
      void (await call("record_files_removed", { lease_token, refused })),
    recordSearchEnded: async (prediction_id, first_attempt, last_attempt, is_unproven) =>
      void (await call("record_search_ended", { prediction_id, first_attempt, last_attempt, is_unproven })),
    complete: async (task, output) =>
      z.boolean().parse(await call("complete_prediction", { ...lease(task), ...output })),
    fail: async (task, reason, retryable, hasNoRun = false) =>
      z
        .boolean()
        .parse(
          await call("fail_prediction", { ...lease(task), ...reason, retryable, ...attemptWithoutRun(task, hasNoRun) }),
        ),
    retryLater: async (task, reason, { retryAfterSeconds = null, hasNoRun = false } = {}) =>
      retried.parse(
        await call("retry_prediction_later", {
          ...lease(task),
          ...reason,
          retry_after_seconds: retryAfterSeconds,
          ...attemptWithoutRun(task, hasNoRun),
        }),
      ),
    modelRefused: async (task, message) =>
      refused.parse(await call("record_model_refused", { ...lease(task), message, ...attemptWithoutRun(task, true) })),
    pollLater: async (task) =>
      void (await call("poll_prediction_later", { ...lease(task), after_seconds: pollSeconds })),
    discardOutput: async ({ lease_token }) => z.boolean().parse(await call("discard_output", { lease_token })),
  };
}

/** A checked file in Storage, as complete_prediction takes it. Only a video has a duration, and sound or none. */
export type StoredOutput = {
  output_path: string;
  content_type: string;
  bytes: number;
  sha256: string;
  width: number;
  height: number;
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
