import { useMutation } from "@tanstack/react-query";
import { useKeyframe } from "../app/services-context.ts";
import { useRefreshWebhook } from "./use-refresh-webhook.ts";
import { useRepeatKey } from "./use-repeat-key.ts";

/** Sends again what failed, or was missed, since a time (ISO 8601); gives how many. */
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
