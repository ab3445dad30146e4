import { useMutation } from "@tanstack/react-query";
import type { KeyframeClient } from "../../../client/index.ts";
import { useKeyframe } from "../app/services-context.ts";
import { useRefreshWebhook } from "./use-refresh-webhook.ts";
import { useStoreWebhook } from "./use-store-webhook.ts";

type Change = Parameters<KeyframeClient["webhooks"]["change"]>[1];

/** Saves settings of an endpoint, or switches it. Enabling makes due what has waited. */
export function useChangeWebhook(webhookId: string) {
  const keyframe = useKeyframe();
  const store = useStoreWebhook();
  const refresh = useRefreshWebhook(webhookId);
  return useMutation({
    mutationFn: (change: Change) => keyframe.webhooks.change(webhookId, change),
    onSuccess: async (changed, change) => {
      await store(changed);
      if (change.enabled !== undefined) refresh();
    },
  });
}
