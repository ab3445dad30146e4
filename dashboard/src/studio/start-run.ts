import type { KeyframeClient, Prediction, StartOptions, Step } from "../../../client/index.ts";

/** What a person chose for a run; what is absent the service decides. */
export type Choices = {
  prompt?: string | undefined;
  referenceImagePath?: string | undefined;
  durationSeconds?: number | undefined;
  firstFramePredictionId?: string | undefined;
  lastFramePredictionId?: string | undefined;
};

/** Starts a step with those of the choices that it takes. */
export function startRun(
  keyframe: KeyframeClient,
  { projectId, step }: { projectId: string; step: Step },
  choices: Choices,
  options: StartOptions,
): Promise<Prediction> {
  const { prompt, referenceImagePath, durationSeconds, firstFramePredictionId, lastFramePredictionId } = choices;
  switch (step) {
    case "first-frame":
      return keyframe.generate(step, { projectId, prompt, referenceImagePath }, options);
    case "last-frame":
      return keyframe.generate(step, { projectId, prompt, referenceImagePath, firstFramePredictionId }, options);
    case "video": {
      const frames = { firstFramePredictionId, lastFramePredictionId };
      return keyframe.generate(step, { projectId, prompt, durationSeconds, ...frames }, options);
    }
  }
}
