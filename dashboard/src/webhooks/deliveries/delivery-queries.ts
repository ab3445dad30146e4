import { keepPreviousData, useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import type { Delivery, KeyframeClient, Webhook } from "../../../../client/index.ts";
import { useKeyframe } from "../../services.ts";
import { type DeliveryStatus, useRefreshWebhook, useRepeatKey, webhookKeys } from "../webhook-queries.ts";
import { isSoon } from "./delivery.ts";

const A_PAGE = 20;
/** Per page shown, because each refresh reads all of them. */
const WHILE_SENDING_MS = 3_000;
const OTHERWISE_MS = 30_000;

/** Deliveries of an endpoint, newest first; null: of every status. */
export function useDeliveries({ webhookId, enabled }: Webhook, status: DeliveryStatus | null) {
  const keyframe = useKeyframe();
  return useInfiniteQuery({
    queryKey: webhookKeys.deliveries(webhookId, status),
    queryFn: ({ pageParam: cursor, signal }) =>
      keyframe.webhooks.deliveries(webhookId, { limit: A_PAGE, status: status ?? undefined, cursor }, { signal }),
    initialPageParam: undefined as string | undefined, // the first page has no cursor
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

const WATCH_PAGE = 50;
/** Most first answers come within seconds. */
const AT_FIRST_MS = 1_000;
const FEW = 5;
const LATER_MS = 3_000;

/** Polls a new delivery until no attempt is due soon. */
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

/** The list is newest first, so the search ends at older deliveries. */
async function findDelivery(keyframe: KeyframeClient, made: Delivery, signal: AbortSignal): Promise<Delivery | null> {
  for await (const one of keyframe.webhooks.eachDelivery(made.webhookId, { limit: WATCH_PAGE }, { signal })) {
    if (one.deliveryId === made.deliveryId) return one;
    if (Date.parse(one.createdAt) < Date.parse(made.createdAt)) return null;
  }
  return null;
}

export function useRedeliver(webhookId: string) {
  const keyframe = useKeyframe();
  const refresh = useRefreshWebhook(webhookId);
  const { keyFor, forget } = useRepeatKey();
  return useMutation({
    mutationFn: (deliveryId: string) => keyframe.webhooks.redeliver(deliveryId, { idempotencyKey: keyFor(deliveryId) }),
    onSuccess: () => {
      forget();
      refresh();
    },
  });
}

/** Returns how many deliveries are sent again. `since`: ISO 8601. */
export function useRecover(webhookId: string) {
  const keyframe = useKeyframe();
  const refresh = useRefreshWebhook(webhookId);
  const { keyFor, forget } = useRepeatKey();
  return useMutation({
    mutationFn: async (since: string) =>
      (await keyframe.webhooks.recover(webhookId, { since }, { idempotencyKey: keyFor(since) })).recovered,
    onSuccess: () => {
      forget();
      refresh();
    },
  });
}

/** Returns the delivery to watch. */
export function useSendTest(webhookId: string) {
  const keyframe = useKeyframe();
  const refresh = useRefreshWebhook(webhookId);
  const { keyFor, forget } = useRepeatKey();
  return useMutation({
    mutationFn: () => keyframe.webhooks.test(webhookId, { idempotencyKey: keyFor(webhookId) }),
    onSuccess: () => {
      forget();
      refresh();
    },
  });
}
