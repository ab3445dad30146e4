import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useKeyframe } from "../app/services-context.ts";
import { useRepeatKey } from "./use-repeat-key.ts";
import { webhookKeys } from "./webhook-keys.ts";
import type { WebhookSettings } from "./webhook-settings.ts";

/** Registers an endpoint. Its answer holds the secret. */
export function useCreateWebhook() {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const { keyFor, forget } = useRepeatKey();
  return useMutation({
    mutationFn: (settings: WebhookSettings) => keyframe.webhooks.create(settings, { idempotencyKey: keyFor(settings) }),
    gcTime: 0, // the secret is not kept longer than it is shown
    onSuccess: () => {
      forget();
      void queries.invalidateQueries({ queryKey: webhookKeys.list });
      void queries.invalidateQueries({ queryKey: webhookKeys.everyHealth });
    },
  });
}
