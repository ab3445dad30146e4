import type { Prediction } from "../../../client/index.ts";
import { isRunning } from "../projects/is-running.ts";
import type { LatestSuccess } from "./use-latest-success.ts";

/** Why the video cannot be made yet; null when it can, or when that is not known: then the service says. */
export function whyNotYet(firstFrame: Prediction | null, { isNone }: LatestSuccess): string | null {
  if (!isNone) return null;
  return isRunning(firstFrame)
    ? "It starts from the first frame, which is on its way."
    : "It starts from a first frame. Generate that one first.";
}
