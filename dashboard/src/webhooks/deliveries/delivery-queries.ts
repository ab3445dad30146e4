import { useDidUpdate, usePrevious } from "@mantine/hooks";
import { type InfiniteData, keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Delivery, DeliveryPage } from "../../../../client/index.ts";
import type { QueryOf } from "../../../../shared/contract/operations/index.ts";
import { PAGED } from "../../queries/query-client.ts";
import { queryKeys } from "../../queries/query-keys.ts";
import { useKeyframe } from "../../services.ts";
import { isSoon } from "./delivery.ts";

/** Which deliveries are listed. Without a field, all of them. */
export type DeliveryFilter = Pick<QueryOf<"listDeliveries">, "status" | "eventType">;

const A_PAGE = 20;
const inPages = ({ pages }: InfiniteData<DeliveryPage>) => pages.flatMap(({ deliveries }) => deliveries);
/** The pause for each page of the list, because a refresh reads all pages. */
const FOLLOW_MS = 4_000;

/** Deliveries of an endpoint, newest first. When they change, the endpoint and its health are read again at once. */
export function useDeliveries(webhookId: string, filter: DeliveryFilter) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const query = useInfiniteQuery({
    queryKey: queryKeys.deliveries(webhookId, filter),
    queryFn: ({ pageParam: cursor, signal }) =>
      keyframe.webhooks.deliveries(webhookId, { limit: A_PAGE, ...filter, cursor }, { signal }),
    select: inPages,
    ...PAGED,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => FOLLOW_MS * Math.max(1, state.data?.pages.length ?? 1),
  });
  const before = usePrevious(query.data);
  useDidUpdate(() => {
    if (before === undefined) return;
    void queries.invalidateQueries({ queryKey: queryKeys.anyWebhookHealth });
    void queries.invalidateQueries({ queryKey: queryKeys.webhook(webhookId) });
  }, [query.data]);
  return query;
}

/** Most answers come within seconds. */
const SOON_EVERY_MS = 1_000;

/** A delivery, read again and again while `isWatched`. Each new attempt refreshes its endpoint. */
export function useWatchDelivery(given: Delivery, isWatched = true): Delivery {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: queryKeys.delivery(given.deliveryId),
    queryFn: ({ signal }) => keyframe.webhooks.readDelivery(given.deliveryId, { signal }),
    initialData: given,
    initialDataUpdatedAt: 0,
    gcTime: 0,
    enabled: isWatched,
    refetchInterval: ({ state: { data: delivery = given } }) =>
      isSoon(delivery, Date.now()) && !isGone(delivery) ? SOON_EVERY_MS : FOLLOW_MS,
  });
  useDidUpdate(() => void queries.invalidateQueries(), [data.attempts]);
  return isWatched ? data : given;
}

/** Whether the answer was 410 Gone: it disables the endpoint, and its deliveries wait. */
export const isGone = ({ lastStatusCode }: Delivery): boolean => lastStatusCode === 410;
