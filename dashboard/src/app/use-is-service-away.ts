import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { isPassing } from "./query-client.ts";

/** Whether a read that a page waits for gets no answer at present. */
export function useIsServiceAway(): boolean {
  const cache = useQueryClient().getQueryCache();
  const subscribe = useCallback((onChange: () => void) => cache.subscribe(onChange), [cache]);
  return useSyncExternalStore(subscribe, () =>
    cache.getAll().some(({ state }) => state.fetchStatus === "fetching" && isPassing(state.fetchFailureReason)),
  );
}
