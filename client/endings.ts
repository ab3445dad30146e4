import type { Output, Prediction } from "../shared/contract/predictions.ts";

export type SucceededPrediction = Prediction & { status: "succeeded"; output: Output };

/** Whether nothing will change any more: it succeeded, failed, or was cancelled. */
export const hasEnded = ({ status }: Prediction): boolean =>
  status === "succeeded" || status === "failed" || status === "canceled";

/** A generation that ended without a file. `code` is the prediction's error code, or `canceled`. */
export class GenerationError extends Error {
  readonly code: string;
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

/** The prediction, when it has a file; otherwise throws a GenerationError. For code that would rather catch than ask. */
export function mustSucceed(prediction: Prediction): SucceededPrediction {
  const { status, output } = prediction;
  if (status === "succeeded" && output !== null) return { ...prediction, status, output };
  throw new GenerationError(prediction);
}
