import type { CallDatabase } from "../../../shared/platform/call-database.ts";
import type { Log } from "../../../shared/platform/log.ts";
import { systemClock } from "../../../shared/platform/clock.ts";
import { createWorker } from "../../../shared/worker/worker.ts";
import { createExchange, type Exchange } from "./deliveries/database.ts";
import { createDeliveryWork, DELIVER_LIMITS } from "./deliveries/delivery-work.ts";
import type { createSender } from "./send/attempt.ts";

type Settings = {
  allowLocal: boolean;
  callDatabase: CallDatabase;
  log: Log;
  /** The address of the project that a process of `npm run worker` works for. A function works for the project that kicks it. */
  address?: string | undefined;
  /** Milliseconds since 1970, for signatures. */
  now?: () => number;
};

/** A worker of `deliver`, for the edge function and for `npm run worker`. */
export function createDeliverWorker({ allowLocal, callDatabase, log, address, now = Date.now }: Settings) {
  /**
   * Loaded during the first claim, so that the answer to the first kick does not wait for undici. If loading fails, the claim fails, and the
   * next claim tries again.
   */
  let sender: Promise<ReturnType<typeof createSender>> | undefined;
  const openSender = () =>
    (sender ??= import("./send/attempt.ts")
      .then((module) => module.createSender(allowLocal, log, now))
      .catch((error) => {
        sender = undefined;
        throw error;
      }));

  const exchange = createExchange(callDatabase);
  const deliveryWork = createDeliveryWork({
    exchange: async (...args: Parameters<Exchange>) => (await Promise.all([exchange(...args), openSender()]))[0],
    attempt: async (delivery) => (await openSender())(delivery),
    log,
    clock: systemClock,
    address,
  });
  return createWorker({
    ...deliveryWork,
    identify: ({ id, endpoint_id }) => ({ deliveryId: id, endpointId: endpoint_id }),
    log,
    limits: DELIVER_LIMITS,
  });
}
