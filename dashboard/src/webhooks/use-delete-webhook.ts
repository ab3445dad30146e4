import { useMutation, useQueryClient } from "@tanstack/react-query";
import { KeyframeError, type Webhook } from "../../../client/index.ts";
import { useKeyframe } from "../app/services-context.ts";
import { webhookKeys } from "./webhook-keys.ts";

/** Deletes an endpoint. That it is gone already is what was wanted: so ends a deletion whose answer was lost. */
export function useDeleteWebhook(webhookId: string, onDeleted: () => void) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async () => {
      await keyframe.webhooks.delete(webhookId).catch((error: unknown) => {
        if (!(error instanceof KeyframeError) || error.code !== "not_found") throw error;
      });
    },
    onSuccess: () => {
      queries.setQueryData<Webhook[]>(webhookKeys.list, (list) => list?.filter((one) => one.webhookId !== webhookId));
      void queries.invalidateQueries({ queryKey: webhookKeys.list });
      onDeleted();
    },
  });
}
