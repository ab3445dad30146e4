import { ApiError, type ErrorCode } from "../../http/errors.ts";

/** Far below the platform's time limit for an answer. */
const MAX_SECONDS = 25;
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 1000;
/** `unauthorized` is one, because a session can expire during the wait, and a start that was made must not be answered with 401. */
const ENDS_THE_WAIT: ErrorCode[] = ["unavailable", "unauthorized"];

/** The seconds of Prefer: wait=N (RFC 7240), at most 25; 0 without it. Other preferences are ignored. */
export function readWait(prefer: string | null): number {
  const seconds = /(?:^|,)\s*wait\s*=\s*"?(\d+)"?\s*(?:$|[,;])/i.exec(prefer ?? "")?.[1];
  return Math.min(Number(seconds ?? 0), MAX_SECONDS);
}

export type HoldClock = {
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
  /** Resolves after `ms`, or at once when the signal aborts; never rejects. */
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
};

type Hold<State> = {
  seconds: number;
  /**
   * Reads the state again. The failures in ENDS_THE_WAIT end the wait without failing the request. A refused read
   * (rate_limited) does not end the wait: the caller would only repeat the request at once.
   */
  readAgain: () => Promise<State>;
  isDone: (state: State) => boolean;
  signal: AbortSignal;
};

/** Reads again until `isDone`, the time is over, or the caller disconnects. Returns the last state. */
export async function holdAnswer<State>(
  first: State,
  { seconds, readAgain, isDone, signal }: Hold<State>,
  { sleep, elapsed }: HoldClock,
): Promise<State> {
  const end = elapsed() + seconds * 1000;
  let state = first;
  let pause = FIRST_PAUSE_MS;
  while (!isDone(state)) {
    const left = end - elapsed();
    if (left <= 0) break;
    await sleep(Math.min(pause, left), signal);
    if (signal.aborted) break;
    pause = Math.min(pause * 1.5, MAX_PAUSE_MS);
    try {
      state = await readAgain();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (ENDS_THE_WAIT.includes(error.code)) break;
      if (error.code !== "rate_limited") throw error;
      pause = MAX_PAUSE_MS;
    }
  }
  return state;
}
