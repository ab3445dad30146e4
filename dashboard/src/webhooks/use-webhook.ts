import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { Webhook } from "../../../client/index.ts";
import { useKeyframe } from "../app/services-context.ts";
import { webhookKeys } from "./webhook-keys.ts";

/** One endpoint; at first as the list had it. */
export function useWebhook(webhookId: string) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useQuery({
    queryKey: webhookKeys.one(webhookId),
    queryFn: ({ signal }) => keyframe.webhooks.read(webhookId, { signal }),
    placeholderData: () =>
      queries.getQueryData<Webhook[]>(webhookKeys.list)?.find((webhook) => webhook.webhookId === webhookId),
    refetchInterval: 30_000, // it may begin to fail, or be disabled
  });
}
