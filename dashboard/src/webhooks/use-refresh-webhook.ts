import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { webhookKeys } from "./webhook-keys.ts";

/** Reads again what sending changes: deliveries, numbers, and whether the endpoint fails or is disabled. */
export function useRefreshWebhook(webhookId: string) {
  const queries = useQueryClient();
  return useCallback(() => {
    const { everyDelivery, everyHealth, one, list } = webhookKeys;
    for (const queryKey of [everyDelivery(webhookId), everyHealth, one(webhookId), list]) {
      void queries.invalidateQueries({ queryKey });
    }
  }, [queries, webhookId]);
}
