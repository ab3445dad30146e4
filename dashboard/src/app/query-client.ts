import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { KeyframeError } from "../../../client/index.ts";

/** Errors that pass by themselves: no answer, a gateway's error, or "come back later". Queries repeat them. */
export const isPassing = (error: unknown): boolean =>
  error instanceof KeyframeError &&
  (["network", "no_token", "unavailable", "rate_limited"].includes(error.code) || (error.status ?? 0) >= 502);

/** Queries repeat while the service is away; mutations fail once. `onUnauthorized` runs when a session is refused. */
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
      // Fails at once without a network, instead of waiting silently.
      mutations: { retry: false, networkMode: "always" },
    },
  });
}
