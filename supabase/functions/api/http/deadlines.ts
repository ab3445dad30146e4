/** Of the patience, by how much a call may get more. */
const SHARE = 1 / 10;

/**
 * Signals that abort between `patienceMs` and a tenth more from now. Calls that begin in the same tenth share one: a signal of its own
 * for each costs a timer that fires, and an error with its stack, long after its call is over.
 *
 * @param elapsed milliseconds by a clock that is never set
 */
export function createDeadlines(patienceMs: number, elapsed: () => number): () => AbortSignal {
  let signal: AbortSignal | undefined;
  let sharedUntil = 0;
  return () => {
    const now = elapsed();
    if (signal === undefined || now > sharedUntil) {
      signal = AbortSignal.timeout(patienceMs * (1 + SHARE));
      sharedUntil = now + patienceMs * SHARE;
    }
    return signal;
  };
}
