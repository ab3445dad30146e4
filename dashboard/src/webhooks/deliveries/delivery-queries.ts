import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { Delivery } from "../../../../client/index.ts";
import type { QueryOf } from "../../../../shared/contract/operations/index.ts";
import { PAGED } from "../../queries/query-client.ts";
import { useKeyframe } from "../../services.ts";
import { isSoon } from "./delivery.ts";

/** Which deliveries are listed; without a field, all. */
export type DeliveryFilter = Pick<QueryOf<"listDeliveries">, "status" | "eventType">;

const A_PAGE = 20;
/** While the page is open and seen. Per page of the list, because each refresh reads all of them. */
const FOLLOW_MS = 4_000;

/** Deliveries of an endpoint, newest first. What changes in them changes its health and state, which are read again at once. */
export function useDeliveries(webhookId: string, filter: DeliveryFilter) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const query = useInfiniteQuery({
    queryKey: ["deliveries", webhookId, filter],
    queryFn: ({ pageParam: cursor, signal }) =>
      keyframe.webhooks.deliveries(webhookId, { limit: A_PAGE, ...filter, cursor }, { signal }),
    ...PAGED,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => FOLLOW_MS * Math.max(1, state.data?.pages.length ?? 1),
  });
  const { data } = query;
  const shown = useRef(data);
  useEffect(() => {
    if (shown.current !== undefined && shown.current !== data) {
      void queries.invalidateQueries({ queryKey: ["webhook-health"] });
      void queries.invalidateQueries({ queryKey: ["webhook", webhookId] });
    }
    shown.current = data;
  }, [data, queries, webhookId]);
  return query;
}

/** Most answers come within seconds. */
const SOON_EVERY_MS = 1_000;

/** A delivery as it is now, while `isWatched`; each new attempt refreshes its endpoint. */
export function useWatchDelivery(given: Delivery, isWatched = true): Delivery {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: ["delivery", given.deliveryId],
    queryFn: ({ signal }) => keyframe.webhooks.readDelivery(given.deliveryId, { signal }),
    initialData: given,
    initialDataUpdatedAt: 0,
    gcTime: 0,
    enabled: isWatched,
    refetchInterval: ({ state: { data: delivery = given } }) =>
      isSoon(delivery, Date.now()) && !isGone(delivery) ? SOON_EVERY_MS : FOLLOW_MS,
  });
  const attempts = useRef(given.attempts);
  useEffect(() => {
    if (data.attempts === attempts.current) return;
    attempts.current = data.attempts;
    void queries.invalidateQueries();
  }, [data.attempts, queries]);
  return isWatched ? data : given;
}

/** After this answer the endpoint is disabled, and its deliveries wait. */
export const isGone = ({ lastStatusCode }: Delivery): boolean => lastStatusCode === 410;
