import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import type { Delivery, KeyframeClient, Webhook } from "../../../client/index.ts";
import type { QueryOf } from "../../../shared/contract/operations/index.ts";
import { unlessGone } from "../ui/errors.ts";
import { useKeyframe, useOnce } from "../services.ts";
import type { WebhookSettings } from "./webhook-settings.ts";

/** Which deliveries are listed; without a field, all. */
export type DeliveryFilter = {
  status?: Delivery["status"] | undefined;
  eventType?: QueryOf<"listDeliveries">["eventType"] | undefined;
};

/** Query keys. Keys with the same beginning are invalidated together. */
export const webhookKeys = {
  list: ["webhooks"] as const,
  one: (webhookId: string) => ["webhook", webhookId] as const,
  /** Null: all endpoints. */
  health: (webhookId: string | null) => ["webhook-health", webhookId] as const,
  everyHealth: ["webhook-health"] as const,
  deliveries: (webhookId: string, filter: DeliveryFilter) => ["deliveries", webhookId, filter] as const,
  everyDelivery: (webhookId: string) => ["deliveries", webhookId] as const,
  watch: (deliveryId: string) => ["watch-delivery", deliveryId] as const,
};

/** The user's endpoints, newest first. The number is limited, so there are no pages. */
export function useWebhooks() {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: webhookKeys.list,
    queryFn: async ({ signal }) => (await keyframe.webhooks.list({ signal })).webhooks,
    refetchInterval: 15_000, // the service may disable one
  });
}

/** One endpoint; the list's copy while loading. */
export function useWebhook(webhookId: string) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useQuery({
    queryKey: webhookKeys.one(webhookId),
    queryFn: ({ signal }) => keyframe.webhooks.read(webhookId, { signal }),
    placeholderData: () =>
      queries.getQueryData<Webhook[]>(webhookKeys.list)?.find((webhook) => webhook.webhookId === webhookId),
    refetchInterval: 15_000, // it may begin to fail, or be disabled
  });
}

/** The answer holds the secret. */
export function useCreateWebhook() {
  const queries = useQueryClient();
  return useOnce(
    (keyframe, settings: WebhookSettings, once) => keyframe.webhooks.create(settings, once),
    () => {
      void queries.invalidateQueries({ queryKey: webhookKeys.list });
      void queries.invalidateQueries({ queryKey: webhookKeys.everyHealth });
    },
  );
}

type Change = Parameters<KeyframeClient["webhooks"]["change"]>[1];

/** Enabling an endpoint makes its waiting deliveries due. */
export function useChangeWebhook(webhookId: string) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const refresh = useRefreshWebhook(webhookId);
  return useMutation({
    mutationFn: (change: Change) => keyframe.webhooks.change(webhookId, change),
    onSuccess: async (changed, change) => {
      const [one, list] = [webhookKeys.one(webhookId), webhookKeys.list];
      // A read that began before would restore the old one.
      await Promise.all([queries.cancelQueries({ queryKey: one }), queries.cancelQueries({ queryKey: list })]);
      queries.setQueryData<Webhook>(one, changed);
      queries.setQueryData<Webhook[]>(list, (known) =>
        known?.map((other) => (other.webhookId === webhookId ? changed : other)),
      );
      if (change.enabled !== undefined) refresh();
    },
  });
}

export function useDeleteWebhook(webhookId: string, onDeleted: () => void) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async () => {
      await keyframe.webhooks.delete(webhookId).catch(unlessGone);
    },
    onSuccess: () => {
      queries.setQueryData<Webhook[]>(webhookKeys.list, (list) => list?.filter((one) => one.webhookId !== webhookId));
      void queries.invalidateQueries({ queryKey: webhookKeys.list });
      onDeleted();
    },
  });
}

/** Invalidates what sending changes: deliveries, health and the endpoint's state. */
export function useRefreshWebhook(webhookId: string) {
  const queries = useQueryClient();
  return useCallback(() => {
    const { everyDelivery, everyHealth, one, list } = webhookKeys;
    for (const queryKey of [everyDelivery(webhookId), everyHealth, one(webhookId), list]) {
      void queries.invalidateQueries({ queryKey });
    }
  }, [queries, webhookId]);
}
