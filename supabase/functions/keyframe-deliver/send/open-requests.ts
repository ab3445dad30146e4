import { describeError, type Log } from "../../../../shared/platform/log.ts";
import type { Clock } from "../drain/clock.ts";

export type OpenRequestsSettings<Delivery, Result> = {
  /** Makes one attempt. A rejection has no result to record; the lease then brings the delivery back. */
  attempt(delivery: Delivery): Promise<Result>;
  onResult(result: Result): void;
  /** After each request, also one without a result. */
  onEnd(): void;
  log: Log;
  clock: Clock;
};

/** The requests under way. They never wait for each other. */
export type OpenRequests<Delivery> = {
  start(deliveries: Delivery[]): void;
  count(): number;
  /** Whether one of them began within so many milliseconds. An older one may take all its time: nobody waits for it. */
  someBeganWithin(ms: number): boolean;
};

export function createOpenRequests<Delivery, Result>({
  attempt,
  onResult,
  onEnd,
  log,
  clock,
}: OpenRequestsSettings<Delivery, Result>): OpenRequests<Delivery> {
  /** By the call that gave them: when they began, and how many are under way still. */
  const batches = new Set<{ since: number; open: number }>();
  let count = 0;

  return {
    count: () => count,
    someBeganWithin: (ms) => {
      const soon = clock.now() - ms;
      return [...batches].some(({ since }) => since > soon);
    },
    start(deliveries) {
      if (deliveries.length === 0) return;
      const batch = { since: clock.now(), open: deliveries.length };
      batches.add(batch);
      count += deliveries.length;
      for (const delivery of deliveries) {
        void attempt(delivery)
          .then(onResult)
          .catch((error) => log.error("attempt_not_made", { reason: describeError(error) }))
          .then(() => {
            count -= 1;
            batch.open -= 1;
            if (batch.open === 0) batches.delete(batch);
            onEnd();
          });
      }
    },
  };
}
