import { generationMethods } from "./generation.ts";
import { projectMethods } from "./projects.ts";
import { type KeyframeOptions, resolveSettings } from "./settings.ts";
import { webhookMethods } from "./webhooks.ts";

export type { Step } from "../shared/contract/fields.ts";
export type { Output, Prediction, PredictionInput, PredictionStatus } from "../shared/contract/predictions.ts";
export type { PredictionPage, Project, ProjectPage, ProjectWithPredictions } from "../shared/contract/projects.ts";
export type { CreatedWebhook, Delivery, DeliveryPage, Webhook } from "../shared/contract/webhooks.ts";
export type { ErrorCode, ErrorDetail } from "../shared/http/errors.ts";
export type { Clock } from "./clock.ts";
export { GenerationError, hasEnded, mustSucceed, type SucceededPrediction } from "./endings.ts";
export { KeyframeError, type KeyframeErrorCode } from "./error.ts";
export type { HoldOptions, StepBody } from "./generation.ts";
export type { CallOptions, StartOptions } from "./operate.ts";
export type { ListedProject } from "./projects.ts";
export type { KeyframeOptions } from "./settings.ts";
export type { PredictionRef, WaitOptions } from "./wait-for.ts";

/**
 * The API as functions, for one caller. The functions need no `this`. They reject with a KeyframeError, or with the signal's reason.
 * Throws a TypeError for an invalid url.
 */
export function createKeyframeClient(options: KeyframeOptions) {
  const settings = resolveSettings(options);
  return {
    ...projectMethods(settings),
    ...generationMethods(settings),
    /** Endpoints and their deliveries. With the project's secret key as token (on a server): the service-wide ones. */
    webhooks: webhookMethods(settings),
  };
}

export type KeyframeClient = ReturnType<typeof createKeyframeClient>;
