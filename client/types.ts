// A copy of the contract's types, so that the package needs no schema library. The type check of test/unit/client/types.test.ts
// requires them to equal shared/contract. Times are ISO 8601 in UTC, and ids are UUIDs.

export type Step = "first-frame" | "last-frame" | "video";

/** `succeeded`, `failed` and `canceled` are final. */
export type PredictionStatus = "queued" | "starting" | "processing" | "succeeded" | "failed" | "canceled";

/** Why a prediction failed. A later service may send other codes. */
export type FailureCode =
  | "content_rejected"
  | "provider_rejected_input"
  | "provider_failed"
  | "provider_aborted"
  | "provider_canceled"
  | "provider_lost"
  | "provider_no_output"
  | "output_expired"
  | "output_not_usable"
  | "input_unreachable"
  | "input_file_missing"
  | "output_too_large"
  | "model_unavailable"
  | "deadline_exceeded"
  | "attempts_exhausted"
  | "provider_unreachable"
  | "provider_unavailable"
  | "storage_unavailable"
  | "provider_unauthorized"
  | "provider_payment_required"
  | "budget_exceeded"
  | "balance_exhausted"
  | "spending_stopped"
  | "price_unknown"
  | "unsupported_input"
  | "previous_shot_failed"
  | "provider_refused_setup"
  | "failed_by_administrator";

export type Output = {
  /** Signed; valid until expiresAt, at least for the next 15 minutes. */
  url: string;
  /** `<ownerId>/<projectId>/<predictionId>.<extension>` in the private bucket `keyframe-outputs`. */
  path: string;
  contentType: string;
  bytes: number;
  /** The SHA-256 of the file in lower-case hex. */
  sha256: string;
  /** Pixels, if the file states them. */
  width?: number | undefined;
  height?: number | undefined;
  /** Only for a video. */
  durationSeconds?: number | undefined;
  /** Whether the file has sound. Left out for images, and when the file does not say it. */
  hasAudio?: boolean | undefined;
  expiresAt: string;
};

/** The input of a run. `models()` says which fields each model accepts. */
type Controls = {
  /** Default: the project's textPrompt. */
  prompt: string;
  /** What to avoid. */
  negativePrompt: string;
  /**
   * The frame at which a video starts, or whose look a last frame keeps: a first or last frame of any of the caller's projects. Default:
   * the selected one, else the latest. Null: none; a video is then made from the text and the reference images.
   */
  firstFramePredictionId: string;
  /** An uploaded image, instead of firstFramePredictionId. */
  firstFrameImagePath: string;
  /**
   * The frame at which a video ends: a first or last frame of any of the caller's projects. Default: the selected one, else the latest.
   * Null: none.
   */
  lastFramePredictionId: string;
  /** An uploaded image, instead of lastFramePredictionId. */
  lastFrameImagePath: string;
  /**
   * True: a video starts on the end image of the film's previous shot, instead of a first frame. It waits for that shot's video, and
   * for the picture: see `endImagePath` of a prediction.
   */
  continuesPreviousShot: boolean;
  /** In an answer: the video that this one continues. */
  continuesPredictionId: string;
  /** Images that set the look. */
  referenceImagePaths: string[];
  /** One image, instead of referenceImagePaths. */
  referenceImagePath: string;
  /** In a start: the elements of `input` of an answer, to repeat it. */
  elements: UsedElement[];
  /** Width to height. Default: the project's. */
  aspectRatio: string;
  resolution: string;
  /** The length of a video. */
  durationSeconds: number;
  /** Whether a video has sound. */
  audio: boolean;
  seed: number;
};
type AlwaysSet = "prompt" | "referenceImagePaths" | "elements";

/** An element as it was when a prediction was started. */
export type UsedElement = Pick<Element, "elementId" | "updatedAt" | "name" | "text" | "imagePaths">;

/** The input of a prediction, defaults included; null: not set. A frame may have been deleted. */
export type PredictionInput = Pick<Controls, AlwaysSet> & {
  [Name in Exclude<keyof Controls, AlwaysSet>]: Controls[Name] | null;
};

type Value = string | number | boolean;

/** How a model accepts one control. */
export type ModelControl = {
  values?: Value[] | undefined;
  min?: number | undefined;
  /** The largest value; for referenceImages, the maximum number. */
  max?: number | undefined;
  /** Used when a start leaves it out. */
  default?: Value | undefined;
  /** For texts: the maximum, in characters. */
  maxLength?: number | undefined;
  /** The model needs this image. */
  required?: boolean | undefined;
  /** For referenceImages: the frames of a video count towards max. */
  countsFrames?: boolean | undefined;
  /** Controls that must be used too. */
  needs?: string[] | undefined;
  /** Controls that cannot be used together with this one. */
  excludes?: string[] | undefined;
  /** The values that other controls get when this one is used. */
  forces?: Record<string, Value> | undefined;
  /** For each value of this control, the values that other controls get. */
  forcesByValue?: Record<string, Record<string, Value>> | undefined;
};

type YesNoOrUnknown = "yes" | "no" | "unknown";

/** The price of one unit of a metric. The metrics of a model add up. */
export type ModelPrice = {
  /** The control values for which the price applies. If several prices apply, the one with the most values is used. */
  appliesTo: Record<string, Value>;
  metric: "run" | "image" | "output_second" | "input_megapixel" | "output_megapixel" | "hardware_second";
  priceUsd: number;
  /** When the price was last checked against its source. */
  checkedAt: string;
};

/** A model of a step, its controls and its prices. */
export type Model = {
  /** The provider's name: `owner/name`. */
  model: string;
  label: string;
  vendor: string;
  /** True: used when a start names no model. */
  isDefault: boolean;
  /** False: the vendor has retired it, or the provider does not know it. */
  available: boolean;
  /** Whether it accepts images that show people's faces. */
  acceptsFaces: YesNoOrUnknown;
  /** When the vendor retires it, if announced. */
  shutdownAt: string | null;
  /** The model that is used instead when this one is not available and a start sets no options. */
  successor: string | null;
  promptMaxLength: number;
  notes?: string | undefined;
  /** Current prices; empty when none is known. */
  prices: ModelPrice[];
  /** Whether the provider bills a run that failed, whose content was rejected, or that was canceled. */
  billedWhen: { failed: YesNoOrUnknown; rejected: YesNoOrUnknown; canceled: YesNoOrUnknown };
  /** By name: fields of a start, plus firstFrame, lastFrame and referenceImages. A missing control cannot be used. */
  controls: Record<string, ModelControl>;
};

/** The models of each step, in the order in which to offer them. */
export type ModelList = { steps: { step: Step; models: Model[] }[] };

/** The price of a start, in millionths of a dollar. */
export type Estimate = {
  /** The model that the start would use. */
  model: string;
  /** The default model, if it is not available and `model` would replace it; otherwise null. */
  requestedModel: string | null;
  /** Null: no price is known. */
  estimateMicros: number | null;
  /** Upper bound by the price list; what the provider measures is charged. Without a known price, the model's ceiling; null if it has none. */
  atMostMicros: number | null;
  currency: "USD";
  /** What is left of your budget, or for an app (OAuth client) of its own limit; null without one. */
  availableMicros: number | null;
  /** Null if you do not pay in advance. */
  balance: Balance | null;
  /** Whether the budgets and your balance would allow the start now. */
  withinBudget: boolean;
  /** The elements that the start would use. */
  elements: { elementId: string; name: string }[];
  /** With `quote`, the id that starts exactly this, once. Otherwise null. */
  quoteId: string | null;
  /** When the quote expires; null without one. */
  quotedUntil: string | null;
};

/** A prepaid balance, in millionths of a dollar. */
export type Balance = {
  /** Negative after a large refund. */
  availableMicros: number;
  /** Reserved for submits that have not ended; not in availableMicros. */
  heldMicros: number;
};

type CreditKind = "grant" | "purchase" | "refund" | "adjustment" | "expiry";

/** What was added to a balance, or subtracted from it. */
export type Credit = {
  key: string;
  kind: CreditKind;
  /** In millionths of a dollar; negative for a refund or an expiry. */
  amountMicros: number;
  note: string | null;
  createdAt: string;
  /** The balance, with this credit included. */
  balance: Balance;
};

/** What the user pays for a prediction, in millionths of a dollar. */
export type Cost = {
  /** The actual cost. Null while it is open or unknown. */
  amountMicros: number | null;
  /** Null when no price is known. */
  atMostMicros: number | null;
  currency: "USD";
  /**
   * `held`: not known yet, atMostMicros is reserved. `settled`: charged. `released`: not charged. `unknown`: not known yet, atMostMicros
   * counts.
   */
  state: "held" | "settled" | "released" | "unknown";
};

export type UsageGroup = "day" | "model" | "step" | "project";

/** The cost of your predictions, in millionths of a dollar. Days are in UTC. */
export type Usage = {
  from: string;
  to: string;
  currency: "USD";
  groupBy: UsageGroup;
  /** Sorted by key; projects by cost, at most 1,000. */
  groups: { key: string; predictions: number; settledMicros: number; heldMicros: number; unknownMicros: number }[];
  /** Your budgets, as of now. settledMicros includes the upper bound for unknown costs. */
  budgets: {
    period: "day" | "month";
    limitMicros: number;
    settledMicros: number;
    heldMicros: number;
    availableMicros: number;
    resetsAt: string;
  }[];
  /** Null if you do not pay in advance. */
  balance: Balance | null;
};

/** One run of a step. */
export type Prediction = {
  predictionId: string;
  projectId: string;
  step: Step;
  status: PredictionStatus;
  /** From 0 to 1; null when unknown. */
  progress: number | null;
  /** While queued: 0 when it has a slot, 1 for the next in the queue; 1000 means 1000 or later. Otherwise null. */
  queuePosition: number | null;
  /** While queued: the previous shot's video, for whose end image it waits. */
  waitsFor: string | null;
  /** The provider's name of the model: `owner/name`. */
  model: string;
  /** The default model, if it was not available and `model` replaced it; otherwise null. */
  requestedModel: string | null;
  input: PredictionInput;
  /** Whether the owner has hidden it: lists then leave it out. */
  hidden: boolean;
  /** Whether a frame that it used was deleted or is no longer the one that its project shows, or an element has changed. */
  outdated: boolean;
  /** The elements that it was made with and that have changed since. */
  changedElements: { elementId: string; name: string; changed: ("name" | "text" | "imagePaths" | "deleted")[] }[];
  /** How often it was submitted to the provider. */
  attempt: number;
  /** The cost of all its submits to the provider. Null after 13 months. */
  cost: Cost | null;
  createdAt: string;
  startedAt: string | null;
  completedAt: string | null;
  /** Null unless it succeeded. */
  output: Output | null;
  /** The last picture of a video, as an uploaded image: the next shot starts there if it continues this one. Null: it is not stored. */
  endImagePath: string | null;
  /** Null unless it failed. `retryable`: whether starting the step again can help. `stage`: what the provider rejected. */
  error: { code: FailureCode; message: string; retryable: boolean; stage?: "input" | "output" | undefined } | null;
};

/** `predictions`: all takes, if the start had `count`. */
export type StartedPrediction = Prediction & { predictions?: Prediction[] | undefined };

export type Project = {
  projectId: string;
  title: string;
  textPrompt: string;
  description: string;
  /** The look of the next frames: a start of a frame uses it unless the start or the plan has references. `referenceImagePaths: []`: none. */
  referenceImagePath: string | null;
  /** Width to height of its frames and videos, such as 9:16. */
  aspectRatio: string;
  /** The film whose shot it is; null: none. */
  filmId: string | null;
  /** The elements that it is made with; null: those of its film. */
  elementIds: string[] | null;
  /** How its steps are made: fields of a start that apply when a start leaves them out. */
  plan: ShotPlan;
  /** The selected take of each step; the next video and last frame are made from the selected frames. Null: the latest that succeeded. */
  selected: Record<Step, string | null>;
  createdAt: string;
  /** Updated by every change. */
  updatedAt: string;
};

type NotPlanned =
  | "projectId"
  | "count"
  | "elementIds"
  | "elements"
  | "seed"
  | "continuesPredictionId"
  | "referenceImagePath";
type PlanOfStep = {
  "first-frame": Omit<StartFirstFrame, NotPlanned>;
  "last-frame": Omit<StartLastFrame, NotPlanned>;
  video: Omit<Start, NotPlanned>;
};
/** For each step, fields of a start that apply when a start leaves them out. */
export type ShotPlan = { [S in Step]?: PlanOfStep[S] | undefined };

/** The latest prediction of each step; null where none was started. */
export type LatestPredictions = Record<Step, Prediction | null>;
/** The take of each step: the selected one, otherwise the latest that succeeded and is not hidden. Null where there is none. */
export type ShownTakes = Record<Step, Prediction | null>;
export type ProjectWithPredictions = Project & { predictions: LatestPredictions; takes: ShownTakes };
/** With predictions and takes if the list was read with `include: "predictions"`. */
export type ListedProject = Project & { predictions?: LatestPredictions | undefined; takes?: ShownTakes | undefined };

/** `nextCursor` is the `cursor` of the next page; null on the last one. */
export type ProjectPage = { projects: ListedProject[]; nextCursor: string | null };
export type PredictionPage = { predictions: Prediction[]; nextCursor: string | null };

/** A sequence of shots, each a project. */
export type Film = {
  filmId: string;
  title: string;
  description: string;
  /** The shots, in order. */
  projectIds: string[];
  /** The cast: the elements that the film's shots are made with. */
  elementIds: string[];
  createdAt: string;
  /** Updated when the texts, the cast, the shots or their order change. */
  updatedAt: string;
};
/** A prediction in a film. Its `input` has no `elements`: read the prediction for them, and to repeat it. */
export type ShotPrediction = Omit<Prediction, "input"> & { input: Omit<Prediction["input"], "elements"> };
export type Shot = Project & Record<"predictions" | "takes", Record<Step, ShotPrediction | null>>;
export type FilmWithShots = Film & { shots: Shot[] };
/** The predictions in the order of the shots. Empty if no shot is missing the step. */
export type StartedFilm = { predictions: Prediction[] };
/** The amounts are the sum of all shots that can start. */
export type FilmEstimate = Omit<Estimate, "model" | "requestedModel" | "elements"> & {
  /** The shots that are missing the step, in order. `error`: why one cannot start. */
  shots: (Pick<Estimate, "estimateMicros" | "atMostMicros" | "elements"> & {
    projectId: string;
    model: string | null;
    error: { code: string; message: string } | null;
  })[];
};
export type FilmPage = { films: Film[]; nextCursor: string | null };

/** What several shots share. */
export type Element = {
  elementId: string;
  kind: "character" | "place" | "prop" | "style";
  /** A prompt names it as `@name`. */
  name: string;
  /** What it looks like; added to the prompt of a start that uses it. */
  text: string;
  /** At most eight uploads; references of a start that uses it. */
  imagePaths: string[];
  createdAt: string;
  updatedAt: string;
};
export type ElementPage = { elements: Element[]; nextCursor: string | null };
/** A link to a film. */
export type Share = {
  shareId: string;
  filmId: string;
  createdAt: string;
  /** When the link expires; null: never, until it is revoked. */
  expiresAt: string | null;
};
/** `token` is returned only once. */
export type CreatedShare = Share & { token: string };

/** What a key may do; each right includes the rights before it. */
export type KeyRight = "read" | "generate" | "manage";

/** A key lets an agent or a script act for its user. */
export type Key = {
  /** The first 19 characters of the key, which are not secret. */
  keyId: string;
  name: string;
  may: KeyRight;
  /** The most it may spend in a day (UTC), in millionths of a dollar; null: no limit of its own. */
  dayLimitMicros: number | null;
  createdAt: string;
  /** When it ends or has ended; null: when it is revoked. */
  expiresAt: string | null;
  /** The minute in which it was last used; null: never. */
  lastUsedAt: string | null;
};
/** `key` is returned only once. */
export type CreatedKey = Key & { key: string };

/** What a link shows. */
export type SharedFilm = { title: string; shots: SharedShot[] };
export type SharedShot = {
  title: string;
  /** Null: the shot has no video yet. */
  video: Pick<Output, "url" | "contentType" | "width" | "height" | "durationSeconds" | "expiresAt"> | null;
};

export type EventType =
  | "project.created"
  | "generation.succeeded"
  | "generation.failed"
  | "budget.exhausted"
  | "balance.low"
  | "balance.exhausted";

/** An endpoint that receives events. */
export type Webhook = {
  webhookId: string;
  url: string;
  description: string;
  /** Empty: all types. */
  eventTypes: string[];
  enabled: boolean;
  /** How many requests to it may be open at once. 1: one after the other, oldest event first. */
  maxInFlight: number;
  disabledAt: string | null;
  /** by_owner: disabled by its owner. gone: it answered 410. failing: every attempt failed for five days, by default. */
  disabledReason: "by_owner" | "gone" | "failing" | null;
  /** When the failures began, or when it was enabled again after the service had disabled it; null after a success. */
  failingSince: string | null;
  /** Whether it has no owner and receives the events of all users. */
  serviceWide: boolean;
  createdAt: string;
  updatedAt: string;
};

/** `secret`: the current signing secret of Standard Webhooks, `whsec_` and base64. */
export type WebhookSecret = { secret: string };
export type CreatedWebhook = Webhook & WebhookSecret;

/** pending: to be sent or retried; delivered: answered with 2xx; exhausted: every attempt failed. */
export type DeliveryStatus = "pending" | "delivered" | "exhausted";

export type DeliveryAttempt = {
  attempt: number;
  startedAt: string;
  durationMs: number;
  /** The headers without `webhook-signature`, which is not stored. */
  requestHeaders: Record<"webhook-id" | "webhook-timestamp" | "content-type" | "user-agent", string>;
  statusCode: number | null;
  /** http_status, timeout, connection, dns, tls, address, redirect, too_large or not_signed. */
  error: string | null;
  /** The first 1 KiB of the answer. */
  responseExcerpt: string | null;
};

/** One event for one endpoint. */
export type Delivery = {
  deliveryId: string;
  webhookId: string;
  /** The webhook-id of every attempt. */
  eventId: string;
  eventType: string;
  status: DeliveryStatus;
  attempts: number;
  /** Null unless pending. */
  nextAttemptAt: string | null;
  lastAttemptAt: string | null;
  lastStatusCode: number | null;
  lastError: string | null;
  createdAt: string;
  completedAt: string | null;
  /** Null for webhook.test. */
  projectId: string | null;
  /** The project's current title; null when the project was deleted. */
  projectTitle: string | null;
  /** Null for events that are not about a prediction. */
  predictionId: string | null;
  /** Byte for byte as every attempt signs and sends it. */
  body: string;
  attemptLog: DeliveryAttempt[];
};

export type DeliveryPage = { deliveries: Delivery[]; nextCursor: string | null };

type Page = { limit?: number | undefined; cursor?: string | undefined };
type Read = { query: { projectId: string; predictionId?: string | undefined }; answer: Prediction };
/** A start of a step without the controls in `Absent`. */
type Start<Absent extends keyof Controls = never> = {
  projectId: string;
  /** Default: the default of the step. A model that you name is never replaced by another. */
  model?: string | undefined;
  /** Default: the project's, else those that the prompt names as `@name`, else all of its film. Empty: none. */
  elementIds?: string[] | null | undefined;
  /** How many takes (1 to 8), all or none. With a seed, each has the next one. */
  count?: number | undefined;
} & { [Name in keyof Controls]?: (Name extends Absent ? null : Controls[Name] | null) | undefined };
type LastFrame = "lastFramePredictionId" | "lastFrameImagePath";
type OfVideos = "continuesPreviousShot" | "continuesPredictionId" | "durationSeconds" | "audio";
type StartFirstFrame = Start<"firstFramePredictionId" | "firstFrameImagePath" | LastFrame | OfVideos>;
type StartLastFrame = Start<LastFrame | OfVideos>;
type Quote = {
  /** Holds the price for ten minutes, and fails with the errors of the start. */
  quote?: "true" | undefined;
};
type StartFilm = Omit<Start, "projectId" | "count"> & {
  /** Only these shots, if they are missing the step. Default: all shots that are missing it, at most the first 60. */
  projectIds?: string[] | undefined;
  /** True: also the shots whose shown take is outdated and not selected, and shots that continue one that is made again. */
  outdated?: boolean | undefined;
};
type Endpoint = {
  description?: string | undefined;
  eventTypes?: EventType[] | undefined;
  enabled?: boolean | undefined;
  maxInFlight?: number | undefined;
};
type NoFields = Record<string, never>;

/** The parameters and the answer of each operation. */
export type Operations = {
  createProject: {
    body: {
      title: string;
      textPrompt: string;
      description?: string | undefined;
      aspectRatio?: string | undefined;
      /** Adds it to this film, as the last shot. */
      filmId?: string | undefined;
      elementIds?: string[] | null | undefined;
      plan?: ShotPlan | undefined;
    };
    answer: Project;
  };
  listProjects: {
    query: Page & {
      include?: "predictions" | undefined;
      /** Only projects whose title contains this text; case is ignored. */
      search?: string | undefined;
    };
    answer: ProjectPage;
  };
  readProject: { answer: ProjectWithPredictions };
  changeProject: {
    body: {
      title?: string | undefined;
      textPrompt?: string | undefined;
      description?: string | undefined;
      referenceImagePath?: string | null | undefined;
      aspectRatio?: string | undefined;
      /** Moves it to this film, as the last shot; null: removes it from its film. */
      filmId?: string | null | undefined;
      /** Null: those of its film. */
      elementIds?: string[] | null | undefined;
      /** A step is replaced as a whole. An omitted step stays as it is; null: no plan. */
      plan?: { [S in Step]?: PlanOfStep[S] | null | undefined } | undefined;
      /** An omitted step stays as it is. */
      selected?: { [S in Step]?: string | null | undefined } | undefined;
    };
    answer: Project;
  };
  deleteProject: { answer: Project };
  listPredictions: {
    query: Page & {
      step?: Step | undefined;
      /** Only predictions that succeeded. */
      status?: "succeeded" | undefined;
      /** Includes hidden predictions. */
      hidden?: "true" | undefined;
    };
    answer: PredictionPage;
  };
  changePrediction: {
    body: { hidden?: boolean | undefined; endImagePath?: string | null | undefined };
    answer: Prediction;
  };
  deletePrediction: { answer: Prediction };
  createFilm: {
    body: { title: string; description?: string | undefined; elementIds?: string[] | undefined };
    answer: Film;
  };
  listFilms: { query: Page; answer: FilmPage };
  readFilm: { answer: FilmWithShots };
  changeFilm: {
    body: {
      title?: string | undefined;
      description?: string | undefined;
      /** The whole list: a project that is missing from it leaves the film. */
      projectIds?: string[] | undefined;
      elementIds?: string[] | undefined;
    };
    answer: Film;
  };
  deleteFilm: { query: { projects?: "delete" | undefined }; answer: Film };
  createElement: {
    body: { [Name in "kind" | "text" | "imagePaths"]?: Element[Name] | undefined } & Pick<Element, "name">;
    answer: Element;
  };
  listElements: { query: Page; answer: ElementPage };
  readElement: { answer: Element };
  changeElement: {
    body: { [Name in "kind" | "name" | "text" | "imagePaths"]?: Element[Name] | undefined };
    answer: Element;
  };
  deleteElement: { answer: Element };
  shareFilm: { body: { expiresAt?: string | undefined }; answer: CreatedShare };
  listShares: { answer: { shares: Share[] } };
  revokeShare: { answer: Share };
  readShared: { answer: SharedFilm };
  createKey: {
    body: {
      name: string;
      may: KeyRight;
      dayLimitMicros?: number | null | undefined;
      expiresAt?: string | undefined;
    };
    answer: CreatedKey;
  };
  listKeys: { answer: { keys: Key[] } };
  revokeKey: { answer: Key };
  uploadReferenceImage: { answer: { referenceImagePath: string } };
  listModels: { answer: ModelList };
  startFilm: { body: StartFilm; answer: StartedFilm };
  estimateFilm: { query: Quote; body: StartFilm; answer: FilmEstimate };
  startFirstFrame: { body: StartFirstFrame; answer: StartedPrediction };
  startLastFrame: { body: StartLastFrame; answer: StartedPrediction };
  startVideo: { body: Start; answer: StartedPrediction };
  estimateFirstFrame: { query: Quote; body: StartFirstFrame; answer: Estimate };
  estimateLastFrame: { query: Quote; body: StartLastFrame; answer: Estimate };
  estimateVideo: { query: Quote; body: Start; answer: Estimate };
  startQuote: { body: { quoteId: string; atMostMicros: number }; answer: StartedPrediction };
  readFirstFrame: Read;
  readLastFrame: Read;
  readVideo: Read;
  readUsage: {
    query: { from?: string | undefined; to?: string | undefined; groupBy?: UsageGroup | undefined };
    answer: Usage;
  };
  addCredit: {
    body: { key: string; kind: CreditKind; amountMicros: number; note?: string | undefined };
    answer: Credit;
  };
  cancelPrediction: { body: { projectId: string; predictionId: string }; answer: Prediction };
  createWebhook: { body: Endpoint & { url: string }; answer: CreatedWebhook };
  listWebhooks: { answer: { webhooks: Webhook[] } };
  readWebhook: { answer: Webhook };
  changeWebhook: { body: Endpoint & { url?: string | undefined }; answer: Webhook };
  deleteWebhook: { answer: Webhook };
  revealSecret: { answer: WebhookSecret };
  rotateSecret: { body: { overlapHours?: number | undefined }; answer: WebhookSecret };
  testWebhook: { body: NoFields; answer: Delivery };
  listDeliveries: {
    query: Page & { status?: DeliveryStatus | undefined; eventType?: EventType | "webhook.test" | undefined };
    answer: DeliveryPage;
  };
  readDelivery: { answer: Delivery };
  redeliver: { body: NoFields; answer: Delivery };
  recoverWebhook: { body: { since: string }; answer: { recovered: number } };
};

export type OperationId = keyof Operations;
export type AnswerOf<Id extends OperationId> = Operations[Id]["answer"];
export type BodyOf<Id extends OperationId> = Operations[Id] extends { body: infer Body } ? Body : never;
export type QueryOf<Id extends OperationId> = Operations[Id] extends { query: infer Query } ? Query : never;
