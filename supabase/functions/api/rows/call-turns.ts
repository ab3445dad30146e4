import { ApiError } from "../../../../shared/http/errors.ts";
import { type Credential, isServer } from "../auth/verify-session.ts";

/**
 * Two fewer than settings.max_calls_per_owner by default: the database refuses more, from all processes together. The others are for what a
 * page reads straight through the Data API meanwhile.
 */
const MAX_CALLS_PER_CALLER = 4;
/** Each holds a connection to this function, but none to the database. */
const MAX_WAITING_PER_CALLER = 64;

/** Calls the database for a caller, in its turn. Throws rate_limited when too many of this caller wait. */
type CallTurns = <T>(caller: Credential, call: () => Promise<T>) => Promise<T>;

/** Lets the burst of one caller wait here, where it takes no connection of the database from others. */
export function createCallTurns(): CallTurns {
  const queues = new Map<string, { calls: number; waiting: (() => void)[] }>();
  return async (caller, call) => {
    const key = ownerOf(caller);
    if (key === null) return await call();
    const queue = queues.get(key) ?? { calls: 0, waiting: [] };
    queues.set(key, queue);
    if (queue.calls < MAX_CALLS_PER_CALLER) queue.calls += 1;
    else if (queue.waiting.length >= MAX_WAITING_PER_CALLER) throw tooMany();
    else await new Promise<void>((begin) => queue.waiting.push(begin));
    try {
      return await call();
    } finally {
      const next = queue.waiting.shift(); // takes over the turn
      if (next) next();
      else queue.calls -= 1;
      if (queue.calls === 0) queues.delete(key);
    }
  };
}

/** The user of a verified session, or of a server that acts for one. Null for the secret key and for nobody, who have no limit. */
function ownerOf(caller: Credential): string | null {
  if (caller === null) return null;
  if (isServer(caller)) return caller.userId;
  const [, claims] = caller.split(".");
  if (claims === undefined) return null;
  const { sub }: { sub?: string } = JSON.parse(atob(claims.replaceAll("-", "+").replaceAll("_", "/")));
  return sub ?? null;
}

const tooMany = (): ApiError =>
  new ApiError(
    "rate_limited",
    `More than ${MAX_WAITING_PER_CALLER} requests of yours wait for an answer. Wait the seconds named in Retry-After, then try again.`,
    { headers: { "Retry-After": "1" } },
  );
