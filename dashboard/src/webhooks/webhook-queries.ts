import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { KeyframeClient, Webhook } from "../../../client/index.ts";
import { forget } from "../queries/query-client.ts";
import { unlessGone } from "../ui/errors.ts";
import { useKeyframe } from "../services.ts";

/** The user's endpoints, newest first. The number is limited, so there are no pages. */
export function useWebhooks() {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: ["webhooks"],
    queryFn: async ({ signal }) => (await keyframe.webhooks.list({ signal })).webhooks,
    refetchInterval: 15_000, // the service may disable one
  });
}

/** One endpoint; the list's copy while loading. */
export function useWebhook(webhookId: string) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useQuery({
    queryKey: ["webhook", webhookId],
    queryFn: ({ signal }) => keyframe.webhooks.read(webhookId, { signal }),
    placeholderData: () =>
      queries.getQueryData<Webhook[]>(["webhooks"])?.find((webhook) => webhook.webhookId === webhookId),
    refetchInterval: 15_000, // it may begin to fail, or be disabled
  });
}

type Change = Parameters<KeyframeClient["webhooks"]["change"]>[1];

/** Enabling an endpoint makes its waiting deliveries due. */
export function useChangeWebhook(webhookId: string) {
  const keyframe = useKeyframe();
  return useMutation({ mutationFn: (change: Change) => keyframe.webhooks.change(webhookId, change) });
}

export function useDeleteWebhook(webhookId: string, onDeleted: () => void) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async () => {
      await keyframe.webhooks.delete(webhookId).catch(unlessGone);
    },
    onSuccess: () => {
      onDeleted();
      forget(queries, webhookId);
    },
  });
}
