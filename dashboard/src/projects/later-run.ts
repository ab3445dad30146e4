import type { Prediction, PredictionStatus } from "../../../client/index.ts";

/** A status only moves to the right. */
const ORDER: Record<PredictionStatus, number> = {
  queued: 0,
  starting: 1,
  processing: 2,
  succeeded: 3,
  failed: 3,
  canceled: 3,
};

/**
 * Which of two sights of a step is the later one. Answers overtake each other: a read that began before a run was started,
 * or before it ended, must not take that back.
 */
export function laterRun(before: Prediction | null, now: Prediction | null): Prediction | null {
  if (before === null || now === null) return now ?? before;
  if (before.predictionId !== now.predictionId) return before.createdAt > now.createdAt ? before : now;
  return ORDER[before.status] > ORDER[now.status] ? before : now;
}
