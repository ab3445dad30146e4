import { describeError, type Log } from "../../../../shared/platform/log.ts";
import type { Clock } from "../../../../shared/worker/clock.ts";

export type OpenRequestsSettings<Delivery, Result> = {
  /** Makes one attempt. A rejection has no result to record: the delivery is claimed again when its lease expires. */
  attempt(delivery: Delivery): Promise<Result>;
  onResult(result: Result): void;
  /** Called after each request, with or without a result. */
  onEnd(): void;
  log: Log;
  clock: Clock;
};

/** The open requests. They never wait for each other. */
export type OpenRequests<Delivery> = {
  start(deliveries: Delivery[]): void;
  count(): number;
  /** Whether one of them began within the last `ms`. */
  someBeganWithin(ms: number): boolean;
};

export function createOpenRequests<Delivery, Result>({
  attempt,
  onResult,
  onEnd,
  log,
  clock,
}: OpenRequestsSettings<Delivery, Result>): OpenRequests<Delivery> {
  /** One entry for each claim: when its requests began, and how many are still open. */
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
