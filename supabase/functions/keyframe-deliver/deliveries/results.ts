import { DatabaseError } from "../../../../shared/platform/call-database.ts";
import type { Log } from "../../../../shared/platform/log.ts";
import type { AttemptResult } from "./database.ts";

/**
 * A result that the database refuses, or whose delivery is locked, is retried every second. After a minute it is dropped. Its delivery is
 * sent again once its lease has expired. While the database does not answer, results are kept.
 */
const RECORD_AGAIN_MS = 1_000;
const RECORD_WITHIN_MS = 60_000;

/** A result to record at `from` or later, and to drop at `until`. After the database has refused it, it is recorded by itself (`isAlone`). */
type Recording = { result: AttemptResult; from: number; until: number; isAlone: boolean };

/** The results that one call carries, and what to do after it. `unrecorded`: the ids of deliveries whose rows were locked. */
export type Batch = {
  results: AttemptResult[];
  onRecorded(unrecorded: string[]): void;
  onFailed(error: unknown): void;
};

/** For a call that only claims. */
export const NO_BATCH: Batch = { results: [], onRecorded: () => undefined, onFailed: () => undefined };

/** Keeps the results of requests until the database has recorded them. */
export function createResults(now: () => number, log: Log) {
  let results: Recording[] = [];
  /** After a failed call each result is recorded by its own call, so that one refused result delays no other. */
  let isOneByOne = false;
  const ready = () => results.filter(({ from }) => from <= now());

  function again(recordings: Recording[], reason: string, isAlone = false): void {
    for (const each of recordings) {
      const fields = { deliveryId: each.result.id, endpointId: each.result.endpoint_id, reason };
      if (now() < each.until) {
        results.push({ ...each, from: now() + RECORD_AGAIN_MS, isAlone });
        log.warn("result_not_recorded", fields);
      } else {
        log.error("result_dropped", fields);
      }
    }
  }

  return {
    add(result: AttemptResult): void {
      results.push({ result, from: 0, until: now() + RECORD_WITHIN_MS, isAlone: false });
    },
    ready: () => ready().length,
    pending: () => results.length,
    has: (id: string): boolean => results.some(({ result }) => result.id === id),
    /** Whether the next call must carry a single result. */
    goesAlone: () => ready().some(({ isAlone }) => isAlone || isOneByOne),

    /** The results for the next call. If it gets no answer, they are sent again. */
    nextBatch(): Batch {
      const all = ready();
      const alone = all.find(({ isAlone }) => isAlone) ?? (isOneByOne ? all[0] : undefined);
      const batch = alone ? [alone] : all;
      const removeBatch = () => {
        results = results.filter((each) => !batch.includes(each));
      };
      return {
        results: batch.map(({ result }) => result),
        onRecorded(unrecorded) {
          removeBatch();
          again(
            batch.filter(({ result }) => unrecorded.includes(result.id)),
            "locked",
          );
          if (ready().length === 0) isOneByOne = false;
        },
        onFailed(error) {
          const hasAnswer = error instanceof DatabaseError && error.code !== "";
          if (alone && hasAnswer) {
            removeBatch();
            again(batch, error.code, true);
          } else {
            isOneByOne = results.length > 0;
          }
        },
      };
    },
  };
}
