import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { KeyframeError } from "../../../client/index.ts";

/** No answer, a gateway's in its place, or one that says to come back: it is tried again for as long as the page is open. */
export const isPassing = (error: unknown): boolean =>
  error instanceof KeyframeError &&
  (["network", "no_token", "unavailable", "rate_limited"].includes(error.code) || (error.status ?? 0) >= 502);

/** Reads repeat while the service is away; changes are told once. `onUnauthorized` is called when a session is refused. */
export function createQueryClient(onUnauthorized: () => void): QueryClient {
  const watch = (error: unknown) => {
    if (error instanceof KeyframeError && error.code === "unauthorized") onUnauthorized();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError: watch }),
    mutationCache: new MutationCache({ onError: watch }),
    defaultOptions: {
      queries: {
        retry: (_failures, error) => isPassing(error),
        retryDelay: (failures) => Math.min(1000 * 2 ** failures, 15_000),
        staleTime: 5_000,
      },
      // Without a network it fails at once and says so, instead of waiting silently.
      mutations: { retry: false, networkMode: "always" },
    },
  });
}
