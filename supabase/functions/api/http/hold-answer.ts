import { ApiError, type ErrorCode } from "../../../../shared/http/errors.ts";
import type { Deps } from "../call.ts";

/** Far below the platform's limit for an answer, so that a held one still gets through. */
const MOST_SECONDS = 25;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 1000;
/** A session can run out meanwhile: whoever started something must be told that it runs, not to sign in and start it again. */
const ENDS_THE_WAIT: ErrorCode[] = ["rate_limited", "unavailable", "unauthorized"];

/** The seconds of Prefer: wait=N (RFC 7240), at most 25; 0 without it. A preference that is not understood is ignored. */
export function readWait(prefer: string | null): number {
  const seconds = /(?:^|,)\s*wait\s*=\s*"?(\d+)"?\s*(?:$|[,;])/i.exec(prefer ?? "")?.[1];
  return Math.min(Number(seconds ?? 0), MOST_SECONDS);
}

type Hold<Seen> = {
  seconds: number;
  /** Looks again. Some failures (ENDS_THE_WAIT) end the wait and do not fail the request, which has done what it was sent for. */
  look: () => Promise<Seen>;
  isNews: (seen: Seen) => boolean;
  signal: AbortSignal;
};

/** Looks again and again until there is news, the time is up or the caller has gone. Returns what was seen last. */
export async function holdAnswer<Seen>(
  first: Seen,
  { seconds, look, isNews, signal }: Hold<Seen>,
  { sleep, elapsed }: Pick<Deps, "sleep" | "elapsed">,
): Promise<Seen> {
  const end = elapsed() + seconds * 1000;
  let seen = first;
  let pause = FIRST_PAUSE_MS;
  while (!isNews(seen)) {
    const left = end - elapsed();
    if (left <= 0) break;
    await sleep(Math.min(pause, left), signal);
    if (signal.aborted) break;
    pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS);
    try {
      seen = await look();
    } catch (error) {
      if (error instanceof ApiError && ENDS_THE_WAIT.includes(error.code)) break;
      throw error;
    }
  }
  return seen;
}
