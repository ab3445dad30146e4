import { useQuery } from "@tanstack/react-query";
import type { Delivery, KeyframeClient } from "../../../client/index.ts";
import { useKeyframe } from "../app/services-context.ts";
import { isSoon } from "./is-soon.ts";
import { webhookKeys } from "./webhook-keys.ts";

const A_PAGE = 50;
/** Most answers come at once; whoever waits for the first one looks at the page. */
const AT_FIRST_MS = 1_000;
const FEW = 5;
const LATER_MS = 3_000;

/** Follows a delivery that was just made until nothing becomes of it soon. */
export function useWatchDelivery(made: Delivery): Delivery {
  const keyframe = useKeyframe();
  const { data } = useQuery({
    queryKey: webhookKeys.watch(made.deliveryId),
    queryFn: async ({ signal }) => (await findDelivery(keyframe, made, signal)) ?? made,
    initialData: made,
    initialDataUpdatedAt: 0,
    gcTime: 0,
    refetchInterval: ({ state }) => {
      const { data: delivery = made, dataUpdateCount } = state;
      if (isGone(delivery) || !isSoon(delivery, Date.now())) return false;
      return delivery.attempts === 0 && dataUpdateCount < FEW ? AT_FIRST_MS : LATER_MS;
    },
  });
  return data;
}

/** After this answer the endpoint is disabled, and its deliveries wait. */
export const isGone = ({ lastStatusCode }: Delivery): boolean => lastStatusCode === 410;

/** Newest first, so what was made before it need not be looked at. */
async function findDelivery(keyframe: KeyframeClient, made: Delivery, signal: AbortSignal): Promise<Delivery | null> {
  for await (const one of keyframe.webhooks.eachDelivery(made.webhookId, { limit: A_PAGE }, { signal })) {
    if (one.deliveryId === made.deliveryId) return one;
    if (Date.parse(one.createdAt) < Date.parse(made.createdAt)) return null;
  }
  return null;
}
