import { MutationCache, type MutationMeta, QueryCache, QueryClient, replaceEqualDeep } from "@tanstack/react-query";
import { KeyframeError, type Output } from "../../../client/index.ts";
import { keepUrls } from "../../../client/keep-urls.ts";
import { isChangedElsewhere, isRefused } from "../ui/errors.ts";
import { REFERENCE } from "./query-keys.ts";

/** Whether an error is temporary: no answer, a gateway's error, or “come back later”. Queries retry then. */
export const isPassing = (error: unknown): boolean =>
  error instanceof KeyframeError &&
  (["network", "no_token", "unavailable", "rate_limited"].includes(error.code) || (error.status ?? 0) >= 502);

/** The longest time that a mutation waits for its refetch: a query that gets no answer retries without end. */
const READ_AGAIN_MS = 10_000;

/** For a mutation that changes nothing on the page: no refetch. */
export const CHANGES_NOTHING: MutationMeta = { readsAgain: "never" };
/** For an optimistic update: the mutation does not wait for the refetch. */
export const IS_SHOWN: MutationMeta = { readsAgain: "in background" };

/**
 * Queries retry while the service is down; mutations fail at once. `onUnauthorized` runs when the service refuses the session. After a
 * change or refusal, every visible query refetches. A mutation waits for that refetch if it succeeded or hit a concurrent change. A query
 * in flight starts again, so it never shows the data from before the change.
 */
export function createQueryClient(outputs: Map<string, Output>, onUnauthorized: () => void): QueryClient {
  const watch = (error: unknown) => {
    if (error instanceof KeyframeError && error.code === "unauthorized") onUnauthorized();
  };
  const queries = new QueryClient({
    queryCache: new QueryCache({ onError: watch }),
    mutationCache: new MutationCache({
      onError: watch,
      onSettled: (_data, error, _variables, _kept, { meta }) => {
        const isKnown = error === null || (isRefused(error) && !isPassing(error));
        if (!isKnown || meta?.readsAgain === CHANGES_NOTHING.readsAgain) return undefined;
        const reading = readAgain(queries);
        const isWaitedFor = error === null ? meta?.readsAgain !== IS_SHOWN.readsAgain : isChangedElsewhere(error);
        if (!isWaitedFor) return undefined;
        return Promise.race([reading, new Promise((resolve) => setTimeout(resolve, READ_AGAIN_MS))]);
      },
    }),
    defaultOptions: {
      queries: {
        retry: (_failures, error) => isPassing(error),
        retryDelay: (failures) => Math.min(1000 * 2 ** failures, 15_000),
        staleTime: 5_000,
        // An unchanged file keeps its URL, and equal data its identity.
        structuralSharing: (before, now) => {
          keepUrls(now, outputs);
          return replaceEqualDeep(before, now);
        },
      },
      // Without a network, a mutation fails at once instead of waiting silently.
      mutations: { retry: false, networkMode: "always" },
    },
  });
  return queries;
}

/** Refetches every visible query. Uploaded images keep their URL: a new one would load the image again. */
export const readAgain = (queries: QueryClient): Promise<void> =>
  queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== REFERENCE });

/** The options of a list that is read page by page. */
export const PAGED = {
  initialPageParam: undefined as string | undefined, // the first page has no cursor
  getNextPageParam: ({ nextCursor }: { nextCursor: string | null }) => nextCursor ?? undefined,
};

/** Drops the queries of a deleted resource, and lists out of sight that may still have it. */
export const forget = (queries: QueryClient, id: string): void =>
  queries.removeQueries({ predicate: (query) => !query.isActive() || query.queryKey.includes(id) });
