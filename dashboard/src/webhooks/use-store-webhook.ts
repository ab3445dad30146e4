import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import type { Webhook } from "../../../client/index.ts";
import { webhookKeys } from "./webhook-keys.ts";

/** Puts an endpoint, as the service just told it, where the pages read. */
export function useStoreWebhook() {
  const queries = useQueryClient();
  return useCallback(
    async (webhook: Webhook) => {
      // A read that began before would bring the old one back.
      await Promise.all([
        queries.cancelQueries({ queryKey: webhookKeys.one(webhook.webhookId) }),
        queries.cancelQueries({ queryKey: webhookKeys.list }),
      ]);
      queries.setQueryData<Webhook>(webhookKeys.one(webhook.webhookId), webhook);
      queries.setQueryData<Webhook[]>(webhookKeys.list, (list) =>
        list?.map((one) => (one.webhookId === webhook.webhookId ? webhook : one)),
      );
    },
    [queries],
  );
}
