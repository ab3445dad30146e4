import { useMutation } from "@tanstack/react-query";
import { useKeyframe } from "../app/services-context.ts";
import { useRefreshWebhook } from "./use-refresh-webhook.ts";
import { useRepeatKey } from "./use-repeat-key.ts";

/** Sends a delivery of this endpoint again, whatever came of it. */
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
