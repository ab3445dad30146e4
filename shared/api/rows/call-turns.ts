import { ApiError } from "../../http/errors.ts";

/**
 * Of one process. Two fewer than settings.max_calls_per_owner by default, by which the database limits all processes and direct calls
 * together: the others are for what a page reads straight through the Data API meanwhile.
 */
const MAX_CALLS_PER_CALLER = 4;
/** Each holds a connection to this function, but none to the database. */
const MAX_WAITING_PER_CALLER = 64;

/**
 * Calls the database for an owner, in its turn. Throws rate_limited when too many calls of this owner wait. Null, for the project and for
 * nobody, has no limit.
 */
type CallTurns = <T>(ownerId: string | null, call: () => Promise<T>) => Promise<T>;

/** Lets the burst of one caller wait here, where it takes no connection of the database from others. */
export function createCallTurns(): CallTurns {
  const queues = new Map<string, { calls: number; waiting: (() => void)[] }>();
  return async (ownerId, call) => {
    if (ownerId === null) return await call();
    const queue = queues.get(ownerId) ?? { calls: 0, waiting: [] };
    queues.set(ownerId, queue);
    if (queue.calls < MAX_CALLS_PER_CALLER) queue.calls += 1;
    else if (queue.waiting.length >= MAX_WAITING_PER_CALLER) throw tooMany();
    else await new Promise<void>((begin) => queue.waiting.push(begin));
    try {
      return await call();
    } finally {
      const next = queue.waiting.shift(); // takes over the turn
      if (next) next();
      else queue.calls -= 1;
      if (queue.calls === 0) queues.delete(ownerId);
    }
  };
}

const tooMany = (): ApiError =>
  new ApiError(
    "rate_limited",
    `You have more than ${MAX_WAITING_PER_CALLER} requests in progress. Wait for the time in Retry-After, then try again.`,
    { headers: { "Retry-After": "1" } },
  );
