import { useQuery } from "@tanstack/react-query";
import { useServices } from "../app/services-context.ts";
import { type Health, readHealth } from "./read-health.ts";
import { webhookKeys } from "./webhook-keys.ts";

const WHILE_ACTIVE_MS = 5_000;
const WHILE_RETRYING_MS = 15_000;
const OTHERWISE_MS = 60_000;

/** The last 24 hours of one endpoint, or (null) of all; `isActive`: something is being sent just now. */
export function useHealth(webhookId: string | null, isActive = false) {
  const { openSupabase } = useServices();
  return useQuery({
    queryKey: webhookKeys.health(webhookId),
    queryFn: async ({ signal }) => readHealth(await openSupabase(), webhookId, signal),
    refetchInterval: ({ state }) => (isActive ? WHILE_ACTIVE_MS : pauseAfter(state.data)),
  });
}

function pauseAfter(health: Health | undefined): number {
  const isRetrying = health?.endpoints.some(({ hours }) => hours.some(({ retrying }) => retrying > 0));
  return isRetrying ? WHILE_RETRYING_MS : OTHERWISE_MS;
}
