import { useMutation } from "@tanstack/react-query";
import { useKeyframe } from "../app/services-context.ts";
import { useRefreshWebhook } from "./use-refresh-webhook.ts";
import { useRepeatKey } from "./use-repeat-key.ts";

/** Asks for webhook.test to be sent to the endpoint; gives the delivery to watch. */
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
