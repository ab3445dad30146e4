import { z } from "zod";
import { type CallDatabase, DatabaseError } from "../../../../shared/platform/call-database.ts";
import type { Log } from "../../../../shared/platform/log.ts";
import {
  type Found,
  type ProviderPrediction,
  recordProviderState,
} from "../../../../shared/replicate/provider-prediction.ts";
import { createCallSize } from "../../../../shared/worker/call-size.ts";
import type { PlacesReport } from "../../../../shared/worker/places.ts";
import type { OutputSource } from "../files/open-output.ts";
import type { Storage, StoredFile } from "../files/storage.ts";
import type { Provider } from "../provider/provider.ts";
import type { Reason } from "../provider/provider-error.ts";
import type { LeasedTask } from "./task.ts";
import type { Room } from "./task-places.ts";

/** Longer than a task and the recording of its result may take: work must have stopped when its lease expires. */
export const LEASE_SECONDS = 90;

/** How many tasks one claim leases. After a claim that took too long a quarter, one by one; it doubles with each that succeeds. */
const CLAIM_AT_ONCE = 10;

const claimed = z.array(
  z.looseObject({ task: z.string(), id: z.string(), owner_id: z.string().optional(), resource: z.string().optional() }),
);
export type Claimed = z.infer<typeof claimed>[number];
/** A row that could not be claimed. Its message stays in the database, because it may contain data. */
const setAside = z.object({ kind: z.string(), id: z.string(), code: z.string(), failures: z.int() });
/** No answer, or statement_timeout: the claim may have been too large. */
const tookTooLong = (error: unknown) => error instanceof DatabaseError && (error.code === "" || error.code === "57014");
const refused = z.enum(["moved", "failed", "too_late"]);

type RetryDetails = { retryAfterSeconds?: number | null; hasNoRun?: boolean };

/**
 * The SQL functions of the worker. Each is one transition; false or too_late means that the row has changed meanwhile. All throw
 * DatabaseError. `pollSeconds`: the interval of polls; null for the database's own, which assumes callbacks.
 */
export function createDatabase(call: CallDatabase, pollSeconds: number | null) {
  const lease = ({ id, lease_token }: LeasedTask) => ({ prediction_id: id, lease_token });
  const withoutRun = ({ attempt }: LeasedTask, hasNoRun: boolean) => ({
    attempt_without_run: hasNoRun ? attempt : null,
  });
  const size = createCallSize(1 / CLAIM_AT_ONCE);
  return {
    /**
     * Leases due tasks, at most `places` and as `room` says; without places it is a heartbeat only. With nothing due it may wait up to
     * waitMs. `load`: what health says of the places. `asides`: rows that could not be leased.
     */
    async claim(
      places: number,
      room: (most: number) => Room,
      heartbeat_ms: number,
      wait_ms: number,
      callMs: number,
      load?: PlacesReport,
    ) {
      const max_rows = Math.min(places, size.of(CLAIM_AT_ONCE));
      const one_by_one = size.isReduced();
      const limits = { max_rows, lease_seconds: LEASE_SECONDS, heartbeat_ms, wait_ms, one_by_one };
      const report = { callMs: Math.round(callMs), places: load };
      const answer = await call("claim_predictions", { ...limits, report, room: room(max_rows) }).catch((error) => {
        if (tookTooLong(error)) size.failed();
        throw error;
      });
      size.succeeded();
      const rows = claimed.parse(answer);
      const isTask = ({ task }: Claimed) => task !== "set_aside";
      return { tasks: rows.filter(isTask), asides: z.array(setAside).parse(rows.filter((row) => !isTask(row))) };
    },
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
