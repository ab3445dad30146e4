import type { AnswerOf, BodyOf, OperationId, QueryOf } from "../../../shared/contract/operations/index.ts";
import type { BodyReader } from "../../../shared/http/read-body.ts";
import type { Log } from "../../../shared/platform/log.ts";
import type { ManagerVerifier, ProjectVerifier, ServerVerifier } from "./auth/project-key.ts";
import type { Credential, SessionVerifier } from "./auth/verify-session.ts";
import type { HoldClock } from "./http/hold-answer.ts";
import type { Idempotency } from "./http/idempotency.ts";
import type { UnreadUpload } from "./http/read-upload.ts";
import type { Answer } from "./http/respond.ts";
import type { UploadTurns } from "./http/upload-turns.ts";
import type { Database } from "./rows/database.ts";
import type { HealthCall } from "./rows/health-call.ts";
import type { Storage } from "./rows/storage.ts";

/** The dependencies of the handlers. */
export type Deps = HoldClock & {
  database: Database;
  askHealth: HealthCall;
  storage: Storage;
  /** Reads JSON bodies. */
  readBody: BodyReader;
  takeUploadTurn: UploadTurns;
  verifySession: SessionVerifier;
  /** For the webhook paths, which also accept the project's secret key. */
  verifyManager: ManagerVerifier;
  /** For the figures, which only the project's secret key may read. */
  verifyProject: ProjectVerifier;
  /** For requests with Keyframe-User. */
  verifyServer: ServerVerifier;
  /** A sentence that says why this URL may not receive webhooks; null when it may. */
  refuseUrl: (url: string) => Promise<string | null>;
  /** The text of openapi.json; `mount` is the path prefix of the function (app.ts). */
  openApi: (mount: string) => Promise<string>;
  log: Log;
  now: () => Date;
};

type Image = "uploadReferenceImage";

/** One request, validated by its operation in the contract. */
export type Call<Id extends OperationId> = {
  ownerId: string | null;
  token: Credential;
  /** The value of a path parameter; "" when there is none of this name. */
  path: (name: string) => string;
  query: QueryOf<Id>;
  body: Id extends Image ? UnreadUpload : BodyOf<Id>;
  /** Empty without an Idempotency-Key, and for methods other than POST. */
  idempotency: Idempotency;
  headers: Headers;
  /** Aborts when the caller disconnects. */
  signal: AbortSignal;
};

/** Makes one database call and answers. Throws ApiError. */
export type Handler<Id extends OperationId> = (call: Call<Id>, deps: Deps) => Promise<Answer<AnswerOf<Id>>>;
