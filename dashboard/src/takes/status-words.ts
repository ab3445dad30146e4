import type { FailureCode, PredictionStatus, Shot, ShotPrediction, Step } from "../../../client/index.ts";
import { isRunning } from "../queries/project-queries.ts";
import { counted } from "../ui/words.ts";

/** The steps in the order of the film. */
export const PLAYING_ORDER = ["first-frame", "video", "last-frame"] as const satisfies Step[];

export const STEP_NAME: Record<Step, string> = {
  "first-frame": "First frame",
  video: "Video",
  "last-frame": "Last frame",
};

/** For example “2 first frames”. */
export const countWords = (step: Step, count: number): string => counted(count, STEP_NAME[step].toLowerCase());

/** What the selected take of a step is used for. */
export const USE: Record<Step, string> = {
  "first-frame": "for the next video",
  video: "as the final video",
  "last-frame": "for the next video",
};

export const nounOf = (step: Step): string => (step === "video" ? "video" : "picture");

export const STATUS_WORD: Record<PredictionStatus, string> = {
  queued: "Queued",
  starting: "Starting",
  processing: "Generating",
  succeeded: "Done",
  failed: "Failed",
  canceled: "Canceled",
};

/** Whether a step shows a take that is not its latest prediction. */
export const isEarlier = (latest: ShotPrediction | null, take: ShotPrediction | null): boolean =>
  latest !== null && take !== null && latest.predictionId !== take.predictionId;

/** The status of a step as text. A failed run does not hide an earlier take. */
export function stepWords(latest: ShotPrediction, take: ShotPrediction | null): string {
  const { status, hidden } = latest;
  const isHiddenTake = hidden && status === "succeeded";
  if (isHiddenTake && take === null) return "Hidden";
  if (timedOf(latest, take) === latest) return statusWords(latest);
  if (isHiddenTake) return "Ready, but the latest take is hidden";
  if (status === "succeeded") return "Ready, but the latest take is not used";
  return `Ready, but the latest attempt ${status === "failed" ? "failed" : "was canceled"}`;
}

/** The prediction whose time stands beside `stepWords`: the take when these begin with “Ready”. */
export const timedOf = (latest: ShotPrediction, take: ShotPrediction | null): ShotPrediction =>
  take !== null && isEarlier(latest, take) && !isRunning(latest) ? take : latest;

/** The state that decides a step's icon and color: a canceled run does not make a finished step look broken. */
export const markedOf = (latest: ShotPrediction | null, take: ShotPrediction | null): ShotPrediction | null =>
  latest?.status === "canceled" ? (take ?? latest) : latest;

export function statusWords({ status, queuePosition, progress, waitsFor }: ShotPrediction): string {
  if (waitsFor !== null) return "Waiting for the previous shot";
  if (status === "queued" && queuePosition !== null && queuePosition > 0)
    return `Queued, number ${queuePosition} in the queue`;
  if (status === "processing" && progress !== null) return `${STATUS_WORD.processing}, ${Math.floor(progress * 100)} %`;
  return STATUS_WORD[status];
}

/** A frame of a take. Null when it is deleted, undefined until it is read. */
type FrameOfTake = { name: string; frame: ShotPrediction | null | undefined };

export function outdatedWords(
  { projectId, takes }: Pick<Shot, "projectId" | "takes">,
  frames: FrameOfTake[],
  elements: ShotPrediction["changedElements"],
  continues: boolean,
): string {
  const shown = Object.values(takes).map((take) => take?.predictionId);
  const reasons = frames.flatMap(({ name, frame }) => {
    if (frame === null) return [`Its ${name} was deleted.`];
    const isReplaced = frame?.projectId === projectId && !shown.includes(frame.predictionId);
    return isReplaced ? [`Made with a ${name} that is not selected.`] : [];
  });
  for (const { name, changed } of elements)
    reasons.push(changed.includes("deleted") ? `${name} was deleted.` : `${name} has changed.`);
  const other = continues
    ? "The previous shot has changed, or shows another video."
    : "Made with a frame that is not selected.";
  return reasons.join(" ") || other;
}

/** Errors whose message already says what to do. */
const SAY_THEMSELVES = new Set<FailureCode>([
  "attempts_exhausted",
  "balance_exhausted",
  "budget_exceeded",
  "content_rejected",
  "deadline_exceeded",
  "input_unreachable",
  "model_unavailable",
  "output_expired",
  "output_not_usable",
  "previous_shot_failed",
  "price_unknown",
  "provider_aborted",
  "provider_canceled",
  "provider_lost",
  "provider_no_output",
  "provider_refused_setup",
  "provider_rejected_input",
]);

/** A short text for errors with a long message. */
export function failureTitle({ code, stage }: NonNullable<ShotPrediction["error"]>): string | null {
  if (code === "model_unavailable") return "Model not available";
  if (code === "provider_rejected_input") return "Input rejected";
  if (code !== "content_rejected") return null;
  return stage === "input" ? "Prompt or image rejected" : stage === "output" ? "Result rejected" : "Content rejected";
}

/** The remedy for a file that another prompt or image would not make smaller. */
const TOO_LARGE =
  "Choose a lower resolution, a shorter video or another model, or ask an administrator to raise the upload limit in Storage.";

/** What to do after an error, unless its message says so. */
export function remedyFor({ code, retryable }: NonNullable<ShotPrediction["error"]>): string | null {
  if (SAY_THEMSELVES.has(code)) return null;
  if (retryable) return "Try again.";
  return code === "output_too_large" ? TOO_LARGE : "Change the prompt or the image, then generate it again.";
}
