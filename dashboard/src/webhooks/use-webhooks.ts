import { useQuery } from "@tanstack/react-query";
import { useKeyframe } from "../app/services-context.ts";
import { webhookKeys } from "./webhook-keys.ts";

/** The person's endpoints, newest first. There are so few that they come at once. */
export function useWebhooks() {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: webhookKeys.list,
    queryFn: async ({ signal }) => (await keyframe.webhooks.list({ signal })).webhooks,
    refetchInterval: 60_000, // the service may disable one
  });
}
