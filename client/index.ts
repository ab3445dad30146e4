import { elementMethods } from "./elements.ts";
import { filmMethods } from "./films.ts";
import { generationMethods } from "./generation.ts";
import { keyMethods } from "./keys.ts";
import { createApi } from "./operate.ts";
import { projectMethods } from "./projects.ts";
import { type KeyframeOptions, resolveSettings } from "./settings.ts";
import { webhookMethods } from "./webhooks.ts";

export type { Clock } from "./clock.ts";
export { GenerationError, hasEnded, mustSucceed, type SucceededPrediction } from "./endings.ts";
export {
  type ErrorCode,
  type ErrorDetail,
  type ExceededBudget,
  type ExhaustedBalance,
  KeyframeError,
  type KeyframeErrorCode,
} from "./error.ts";
export type { FilmWaitOptions } from "./films.ts";
export type { HoldOptions, StepBody } from "./generation.ts";
export type { CallOptions, ChangeOptions, StartOptions } from "./operate.ts";
export type { KeyframeOptions } from "./settings.ts";
export type {
  Balance,
  Cost,
  CreatedKey,
  CreatedShare,
  CreatedWebhook,
  Credit,
  Delivery,
  DeliveryPage,
  Element,
  ElementPage,
  Estimate,
  FailureCode,
  Film,
  FilmEstimate,
  FilmPage,
  FilmWithShots,
  Key,
  KeyRight,
  ListedProject,
  Model,
  ModelControl,
  ModelList,
  ModelPrice,
  Output,
  Prediction,
  PredictionInput,
  PredictionPage,
  PredictionStatus,
  Project,
  ProjectPage,
  ProjectWithPredictions,
  Share,
  SharedFilm,
  SharedShot,
  Shot,
  ShotPlan,
  ShotPrediction,
  StartedFilm,
  StartedPrediction,
  Step,
  Usage,
  UsageGroup,
  UsedElement,
  Webhook,
} from "./types.ts";
export type { PredictionRef, WaitOptions } from "./wait-for.ts";

export type KeyframeClient = ReturnType<typeof generationMethods> & {
  /** A project is one shot. */
  projects: ReturnType<typeof projectMethods>;
  /** A sequence of shots, each a project. */
  films: ReturnType<typeof filmMethods>;
  /** Characters, places, props and styles that return in several shots. */
  elements: ReturnType<typeof elementMethods>;
  /** Keys for agents and scripts, made and revoked with a session. */
  keys: ReturnType<typeof keyMethods>;
  /** Endpoints and their deliveries. With the project's secret key as token (on a server): the service-wide ones. */
  webhooks: ReturnType<typeof webhookMethods>;
};

/**
 * The API as functions, for one caller: a user by session (getToken) or by a key of theirs (userKey), or a server that acts for a user
 * (secretKey, userId).
 * The functions need no `this`. They reject with a KeyframeError, or with the signal's reason.
 * Throws a TypeError for an invalid option, and for a secret key or a user's key in a browser.
 */
export function createKeyframeClient(options: KeyframeOptions): KeyframeClient {
  const api = createApi(resolveSettings(options));
  return {
    ...generationMethods(api),
    projects: projectMethods(api),
    films: filmMethods(api),
    elements: elementMethods(api),
    keys: keyMethods(api),
    webhooks: webhookMethods(api),
  };
}
