import { KeyframeError } from "./error.ts";
import type { CallOptions, Outcome } from "./operate.ts";
import { retryDelay, isRetriable } from "./retry.ts";
import type { Settings } from "./settings.ts";
import { stopwatch, throwIfAborted } from "./clock.ts";
import type { Prediction } from "./types.ts";

export type PredictionRef = Pick<Prediction, "projectId" | "step" | "predictionId">;

export type WaitOptions<State = Prediction> = CallOptions & {
  /**
   * Called first, and after each change of status, progress or queuePosition; for a film after each read. With it, waitFor polls more
   * often.
   */
  onProgress?: ((state: State) => void) | undefined;
  /** The total time to wait, in ms. Default: no limit. */
  timeoutMs?: number | undefined;
};

/** From an answer: when to poll again, and the ETag to send. */
export type PollHeaders = Pick<Outcome<unknown>, "etag" | "retryAfterSeconds">;

/** One conditional read, which the service may delay for `wait` seconds, within `limitMs`; never repeated. */
export type PollOptions = {
  etag: string | null;
  wait: number | undefined;
  limitMs: number;
  signal: AbortSignal | undefined;
};

/** A prediction, or a film. */
type Waiting<State> = {
  /** The name in an error. */
  name: string;
  /** Undefined: the state is read at once. */
  known: State | undefined;
  /** The ETag and Retry-After of `known`. */
  first: PollHeaders | undefined;
  /** Without data, the ETag is still current (304). */
  poll: (options: PollOptions) => Promise<Outcome<State | undefined>>;
  hasEnded: (state: State) => boolean;
  /** A change of status ends a held answer. */
  changeOf: (now: State, before: State | undefined) => "status" | "progress" | null;
};

/** The most failures in a row; with the pauses, about eight minutes. It is no time limit, because a laptop's sleep must not count. */
const MAX_CONSECUTIVE_FAILURES = 20;
const MAX_HOLD_S = 25;
const MIN_PAUSE_MS = 200;

/**
 * Asks the service to answer only when the status changes. After a delayed answer it polls again at once; after any other answer it waits for
 * Retry-After. With onProgress the delay is as short as Retry-After, because a change of progress does not end it. The poll after a failure
 * requests no delay, because a proxy may cut long requests.
 */
export async function waitFor<State>(
  { name, known, first, poll, hasEnded, changeOf }: Waiting<State>,
  { signal, onProgress, timeoutMs = Number.POSITIVE_INFINITY }: WaitOptions<State>,
  { clock, random, requestTimeoutMs }: Settings,
): Promise<State> {
  throwIfAborted(signal);
  const elapsedMs = stopwatch(clock);
  let seen = known;
  let etag = first?.etag ?? null;
  let retryAfterMs = pauseOf(first?.retryAfterSeconds);
  let pauseMs = first && etag === null ? retryAfterMs : 0;
  let failures = 0;
  if (seen) onProgress?.(seen);
  while (!seen || !hasEnded(seen)) {
    const leftMs = timeoutMs - elapsedMs();
    await clock.sleep(Math.min(pauseMs, Math.max(0, leftMs)), signal);
    if (pauseMs > leftMs) throw timeoutError(name, timeoutMs);

    const sentMs = elapsedMs();
    const longestHoldMs = Math.min(onProgress ? retryAfterMs : MAX_HOLD_S * 1000, timeoutMs - sentMs);
    const wait = etag === null || failures > 0 ? undefined : holdFor(longestHoldMs);
    const limitMs = Math.min(requestTimeoutMs + 1000 * (wait ?? 0), Math.max(1000, timeoutMs - sentMs));
    let result: Outcome<State | undefined>;
    try {
      result = await poll({ etag, wait, limitMs, signal });
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!isRetriable(error) || failures > MAX_CONSECUTIVE_FAILURES) throw error;
      pauseMs = retryDelay(error, failures, random);
      continue;
    }
    const { data: state, waited } = result;
    const change = state === undefined ? null : changeOf(state, seen);
    seen = state ?? seen;
    etag = result.etag ?? (state ? null : etag);
    retryAfterMs = pauseOf(result.retryAfterSeconds);
    if (waited) pauseMs = change === "status" ? 0 : Math.max(0, retryAfterMs - (elapsedMs() - sentMs));
    else pauseMs = retryAfterMs * (1 + random() * 0.1);
    if (seen && change) onProgress?.(seen);
  }
  return seen;
}

const pauseOf = (seconds: number | null | undefined): number => Math.max(MIN_PAUSE_MS, (seconds ?? 1) * 1000);

const holdFor = (ms: number): number => Math.min(MAX_HOLD_S, Math.max(1, Math.floor(ms / 1000)));

const timeoutError = (name: string, ms: number): KeyframeError =>
  new KeyframeError(
    "timeout",
    `The ${name} did not end within ${ms / 1000} s. It is still running: wait again, or cancel it.`,
  );
