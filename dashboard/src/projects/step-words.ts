import type { Prediction, PredictionStatus, Step } from "../../../client/index.ts";

/** In the order of the film. */
export const FILM_ORDER = ["first-frame", "video", "last-frame"] as const satisfies Step[];

export const STEP_NAME: Record<Step, string> = {
  "first-frame": "First frame",
  video: "Video",
  "last-frame": "Last frame",
};

export const STATUS_WORD: Record<PredictionStatus, string> = {
  queued: "Queued",
  starting: "Starting",
  processing: "Generating",
  succeeded: "Done",
  failed: "Failed",
  canceled: "Canceled",
};

/** How a run stands, for a person: with its place in line, or how far it is. */
export function runWords({ status, queuePosition, progress }: Prediction): string {
  if (status === "queued" && queuePosition !== null && queuePosition > 0)
    return `Queued, number ${queuePosition} in line`;
  if (status === "processing" && progress !== null) return `${STATUS_WORD.processing}, ${Math.floor(progress * 100)} %`;
  return STATUS_WORD[status];
}
