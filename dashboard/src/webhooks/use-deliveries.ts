import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import type { Delivery, Webhook } from "../../../client/index.ts";
import { useKeyframe } from "../app/services-context.ts";
import { isSoon } from "./is-soon.ts";
import { type DeliveryStatus, webhookKeys } from "./webhook-keys.ts";

const A_PAGE = 20;
/** For each page that is shown, since all of them are read again. */
const WHILE_SENDING_MS = 3_000;
const OTHERWISE_MS = 30_000;

/** Deliveries of an endpoint, newest first, page by page; of one status, or (null) all. */
export function useDeliveries({ webhookId, enabled }: Webhook, status: DeliveryStatus | null) {
  const keyframe = useKeyframe();
  return useInfiniteQuery({
    queryKey: webhookKeys.deliveries(webhookId, status),
    queryFn: ({ pageParam: cursor, signal }) =>
      keyframe.webhooks.deliveries(webhookId, { limit: A_PAGE, status: status ?? undefined, cursor }, { signal }),
    initialPageParam: undefined as string | undefined, // the type of a cursor: the first page has none
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => {
      const pages = state.data?.pages ?? [];
      const shown: Delivery[] = pages.flatMap(({ deliveries }) => deliveries);
      const isSending = enabled && shown.some((delivery) => isSoon(delivery, Date.now()));
      return isSending ? WHILE_SENDING_MS * pages.length : OTHERWISE_MS;
    },
  });
}
