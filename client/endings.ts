import type { FailureCode, FilmWithShots, Output, Prediction, PredictionStatus, ShotPrediction } from "./types.ts";

export type SucceededPrediction = Prediction & { status: "succeeded"; output: Output };

/** Whether the prediction succeeded, failed or was canceled. These statuses are final. */
export const hasEnded = ({ status }: Pick<Prediction, "status">): boolean =>
  status === "succeeded" || status === "failed" || status === "canceled";

/** The running predictions of a film: the latest of its shots' steps that have not ended. */
export const runningIn = ({ shots }: FilmWithShots): ShotPrediction[] =>
  shots
    .flatMap(({ predictions }) => Object.values(predictions).filter((one) => one !== null))
    .filter((one) => !hasEnded(one));

/** A generation failed or was canceled. `code` is the prediction's error code, or `canceled`. */
export class GenerationError extends Error {
  readonly code: FailureCode | PredictionStatus;
  /** Whether starting the step again can help. */
  readonly retryable: boolean;

  constructor(readonly prediction: Prediction) {
    const { step, status, error } = prediction;
    super(`${step} ${status}: ${error?.message ?? "no reason given"}`);
    this.name = "GenerationError";
    this.code = error?.code ?? status;
    this.retryable = error?.retryable ?? true;
  }
}

/** Returns a prediction that succeeded; throws a GenerationError for any other. */
export function mustSucceed(prediction: Prediction): SucceededPrediction {
  const { status, output } = prediction;
  if (status === "succeeded" && output !== null) return { ...prediction, status, output };
  throw new GenerationError(prediction);
}
