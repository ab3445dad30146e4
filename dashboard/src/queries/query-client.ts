import { MutationCache, QueryCache, QueryClient, replaceEqualDeep } from "@tanstack/react-query";
import { KeyframeError, type Output } from "../../../client/index.ts";
import { keepUrls } from "../../../client/keep-urls.ts";
import { isChangedElsewhere, isRefused } from "../ui/errors.ts";

/** Temporary errors: no answer, a gateway's error, or "come back later". Queries repeat them. */
export const isPassing = (error: unknown): boolean =>
  error instanceof KeyframeError &&
  (["network", "no_token", "unavailable", "rate_limited"].includes(error.code) || (error.status ?? 0) >= 502);

/** How long a change waits to be read: reads that get no answer are repeated without end. */
const READ_AGAIN_MS = 10_000;

/** For a mutation that changes nothing on the page. */
export const CHANGES_NOTHING = { readsAgain: "never" };
/** Optimistic update: do not wait for the refetch. */
export const IS_SHOWN = { readsAgain: "meanwhile" };

/**
 * Queries repeat while the service is down; mutations fail once. `onUnauthorized` runs when a session is refused. After a change, and after
 * a refusal, all that is shown is read again: before a mutation ends that succeeded or was refused because of a change elsewhere. A read
 * under way starts again, so none shows what was before.
 */
export function createQueryClient(onUnauthorized: () => void): QueryClient {
  const watch = (error: unknown) => {
    if (error instanceof KeyframeError && error.code === "unauthorized") onUnauthorized();
  };
  const queries = new QueryClient({
    queryCache: new QueryCache({ onError: watch }),
    mutationCache: new MutationCache({
      onError: watch,
      onSettled: (_data, error, _variables, _kept, { meta }) => {
        const isKnown = error === null || (isRefused(error) && !isPassing(error));
        if (!isKnown || meta === CHANGES_NOTHING) return undefined;
        const reading = readAgain(queries);
        const isWaitedFor = error === null ? meta !== IS_SHOWN : isChangedElsewhere(error);
        if (!isWaitedFor) return undefined;
        return Promise.race([reading, new Promise((resolve) => setTimeout(resolve, READ_AGAIN_MS))]);
      },
    }),
    defaultOptions: {
      queries: {
        retry: (_failures, error) => isPassing(error),
        retryDelay: (failures) => Math.min(1000 * 2 ** failures, 15_000),
        staleTime: 5_000,
        structuralSharing: shareData,
      },
      // Fails at once without a network, instead of waiting silently.
      mutations: { retry: false, networkMode: "always" },
    },
  });
  return queries;
}

/** Reads again all that is shown. A new URL of an uploaded image would load it again, so it keeps its own. */
export const readAgain = (queries: QueryClient): Promise<void> =>
  queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== REFERENCE });

/** For a list that is read page by page. */
export const PAGED = {
  initialPageParam: undefined as string | undefined, // the first page has no cursor
  getNextPageParam: ({ nextCursor }: { nextCursor: string | null }) => nextCursor ?? undefined,
};

/** The first part of the query key of an uploaded image. */
export const REFERENCE = "reference";

export const projectKey = (projectId: string) => ["project", projectId] as const;

/** After a deletion: the deleted resource is not read again, and no earlier list shows it. */
export const forget = (queries: QueryClient, id: string): void =>
  queries.removeQueries({ predicate: (query) => !query.isActive() || query.queryKey.includes(id) });

const kept = new Map<string, Output>();

/** The data of a query. An unchanged file keeps its URL, and equal data its identity. */
function shareData(before: unknown, now: unknown): unknown {
  keepUrls(now, kept);
  return replaceEqualDeep(before, now);
}

/** For a URL that failed to load: the next read replaces it. */
export const forgetUrl = ({ path }: Pick<Output, "path">): void => void kept.delete(path);
