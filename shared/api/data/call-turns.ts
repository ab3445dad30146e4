import { ApiError } from "../../http/errors.ts";

/**
 * The limit of one process. The database enforces settings.max_calls_per_owner for all processes and direct calls. This limit leaves two of
 * those slots for what a page reads straight through the Data API.
 */
const MAX_CALLS_PER_CALLER = 4;
/** A waiting call keeps a connection to this function, but none to the database. */
const MAX_WAITING_PER_CALLER = 64;

/**
 * Calls the database for an owner when a slot is free. Throws rate_limited when too many calls of this owner wait. An `ownerId` of null, for
 * the project and for anonymous callers, has no limit.
 */
type CallTurns = <T>(ownerId: string | null, call: () => Promise<T>) => Promise<T>;

/** Makes a caller's burst wait here, where it uses no database connection that others need. */
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
      const next = queue.waiting.shift(); // hands over the slot
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
