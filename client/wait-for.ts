import type { Prediction } from "../shared/contract/predictions.ts";
import { hasEnded } from "./endings.ts";
import { KeyframeError } from "./error.ts";
import type { CallOptions } from "./operate.ts";
import { delayAfter, isPassing } from "./retry.ts";
import type { Settings } from "./settings.ts";
import { stopwatch } from "./clock.ts";

export type PredictionRef = Pick<Prediction, "projectId" | "step" | "predictionId">;

export type WaitOptions = CallOptions & {
  /** Called with what is known first, and with each change of status, progress or queuePosition. It makes the looks more frequent. */
  onProgress?: ((prediction: Prediction) => void) | undefined;
  /** How long to wait in all, in ms; without it, until the end. */
  timeoutMs?: number | undefined;
};

/** What an answer told of asking again. */
export type Told = { etag: string | null; retryAfterSeconds: number | null };

/** What one look brought: no prediction where the tag is still good. `held`: the service honoured `wait`. */
export type Sight = Told & { held: boolean; prediction: Prediction | undefined };

/** One conditional read, held by the service for `wait` seconds; never repeated. */
export type Look = (
  ref: PredictionRef,
  options: { etag: string | null; wait: number | undefined; limitMs: number; signal: AbortSignal | undefined },
) => Promise<Sight>;

/** Failures in a row before it gives up: with the pauses between them, some eight minutes. Counted, so that sleep is none. */
const PATIENCE = 20;
const LONGEST_HOLD_S = 25;
const SHORTEST_PAUSE_MS = 200;

/**
 * Polls politely. It asks the service to hold its answer until the status changes; after a held answer it asks on at once, for
 * holding was the pause, and after any other one not before Retry-After. The hold is as short as Retry-After where progress is
 * watched, which does not end it. After a failure one look is not held: something between the two may cut what takes long.
 */
export async function waitFor(
  from: Prediction | PredictionRef,
  told: Told | undefined,
  { signal, onProgress, timeoutMs = Number.POSITIVE_INFINITY }: WaitOptions,
  look: Look,
  { clock, random, requestTimeoutMs }: Settings,
): Promise<Prediction> {
  signal?.throwIfAborted();
  const elapsedMs = stopwatch(clock);
  let seen = "status" in from ? from : undefined;
  let etag = told?.etag ?? null;
  let toldMs = pauseOf(told?.retryAfterSeconds);
  let pauseMs = told && etag === null ? toldMs : 0;
  let failures = 0;
  if (seen) onProgress?.(seen);
  while (!seen || !hasEnded(seen)) {
    const leftMs = timeoutMs - elapsedMs();
    await clock.sleep(Math.min(pauseMs, Math.max(0, leftMs)), signal);
    if (pauseMs > leftMs) throw late(from, timeoutMs);

    const askedMs = elapsedMs();
    const limitMs = Math.min(requestTimeoutMs, Math.max(1000, timeoutMs - askedMs));
    const longestHoldMs = Math.min(onProgress ? toldMs : LONGEST_HOLD_S * 1000, timeoutMs - askedMs);
    const wait = etag === null || failures > 0 ? undefined : holdFor(longestHoldMs);
    let sight: Sight;
    try {
      sight = await look(from, { etag, wait, limitMs, signal });
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!isPassing(error) || failures > PATIENCE) throw error;
      pauseMs = delayAfter(error, failures, random);
      continue;
    }
    const { prediction, held } = sight;
    const statusChanged = prediction !== undefined && prediction.status !== seen?.status;
    const hasChanged = prediction !== undefined && !isSame(prediction, seen);
    seen = prediction ?? seen;
    etag = sight.etag ?? (prediction ? null : etag);
    toldMs = pauseOf(sight.retryAfterSeconds);
    if (held) pauseMs = statusChanged ? 0 : Math.max(0, toldMs - (elapsedMs() - askedMs));
    else pauseMs = toldMs * (1 + random() * 0.1);
    if (seen && hasChanged) onProgress?.(seen);
  }
  return seen;
}

const pauseOf = (seconds: number | null | undefined): number => Math.max(SHORTEST_PAUSE_MS, (seconds ?? 1) * 1000);

const holdFor = (ms: number): number => Math.min(LONGEST_HOLD_S, Math.max(1, Math.floor(ms / 1000)));

const isSame = (one: Prediction, other: Prediction | undefined): boolean =>
  one.status === other?.status && one.progress === other.progress && one.queuePosition === other.queuePosition;

const late = ({ step }: PredictionRef, ms: number): KeyframeError =>
  new KeyframeError(
    "timeout",
    `The ${step} has not ended within ${ms / 1000} s. It runs on: wait again, or cancel it.`,
  );
