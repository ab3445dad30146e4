import type { Log } from "../../../../shared/platform/log.ts";
import type { AttemptResult, Exchanged } from "./database.ts";

/** A result that could not be recorded is retried after this time. After the second time it is dropped, and its delivery is sent again. */
const RECORD_AGAIN_MS = 1_000;
const RECORD_WITHIN_MS = 60_000;

/** A result to record at `from` or later. It is dropped at `until`. */
type Recording = { laneId: string; result: AttemptResult; from: number; until: number };

/** The results of requests until the database has recorded them. */
export function createResults(now: () => number, log: Log) {
  let results: Recording[] = [];
  const isReady = ({ from }: Recording) => from <= now();

  return {
    add(laneId: string, result: AttemptResult): void {
      results.push({ laneId, result, from: 0, until: now() + RECORD_WITHIN_MS });
    },
    ready: () => results.filter(isReady).length,
    pending: () => results.length,

    /** The ids of their deliveries, by lane: they are not sent again meanwhile. */
    deliveriesByLane(): Map<string, string[]> {
      const byLane = new Map<string, string[]>();
      for (const { laneId, result } of results) byLane.set(laneId, [...(byLane.get(laneId) ?? []), result.id]);
      return byLane;
    },

    /** Endpoints with a failure that is not recorded yet. */
    failedEndpoints: () =>
      new Set(results.flatMap(({ from, result }) => (from === 0 && result.error !== null ? [result.endpoint_id] : []))),

    /** The results for a call, and what to do with its answer. Without an answer they are sent again. */
    give() {
      const given = results.filter(isReady);
      return {
        given: given.map(({ result }) => result),
        settle(unrecorded: Exchanged["unrecorded"]): void {
          results = results.filter((each) => !given.includes(each));
          for (const { id, endpoint_id, reason } of unrecorded) {
            const again = given.filter(({ result, until }) => result.id === id && now() < until);
            results.push(...again.map((each) => ({ ...each, from: now() + RECORD_AGAIN_MS })));
            const fields = { deliveryId: id, endpointId: endpoint_id, reason };
            if (again.length > 0) log.warn("result_not_recorded", fields);
            else log.error("result_dropped", fields);
          }
        },
      };
    },
  };
}
