import type { AnswerOf, BodyOf, OperationId, QueryOf } from "../../../shared/contract/operations/index.ts";
import type { Log } from "../../../shared/platform/log.ts";
import type { BodyReader } from "../../../shared/http/read-body.ts";
import type { Database } from "./rows/database.ts";
import type { Idempotency } from "./http/idempotency.ts";
import type { UnreadUpload } from "./http/read-upload.ts";
import type { Storage } from "./rows/storage.ts";
import type { UploadTurns } from "./http/upload-turns.ts";
import type { ManagerVerifier, ProjectVerifier } from "./auth/project-key.ts";
import type { SessionVerifier } from "./auth/verify-session.ts";

/** What the handlers stand on. */
export type Deps = {
  database: Database;
  storage: Storage;
  /** For bodies of JSON. */
  readBody: BodyReader;
  takeUploadTurn: UploadTurns;
  verifySession: SessionVerifier;
  /** For the webhook paths, which the project's secret key may call too. */
  verifyManager: ManagerVerifier;
  /** For figures, which are for the project's secret key alone. */
  verifyProject: ProjectVerifier;
  /** Why no webhook may be sent to this address, in a sentence; null when it may. */
  refuseUrl: (url: string) => Promise<string | null>;
  /** The text of openapi.json, for a function at this path: empty for `api`, else as in /films. */
  openApi: (mount: string) => Promise<string>;
  log: Log;
  now: () => Date;
  /** Milliseconds by a clock that is never set: for how long something took. */
  elapsed: () => number;
  /** Resolves after so many milliseconds, at once when the signal aborts; never rejects. */
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
};

type Image = "uploadReferenceImage";

/** One request, its parts validated as its operation in the contract says. */
export type Call<Id extends OperationId> = {
  ownerId: string | null;
  token: string | null;
  /** The value of a parameter of the path; "" when it has none of this name. */
  path: (name: string) => string;
  query: QueryOf<Id>;
  body: Id extends Image ? UnreadUpload : BodyOf<Id>;
  /** What Idempotency-Key stands for; empty without one, and for other methods than POST. */
  idempotency: Idempotency;
  headers: Headers;
  /** Aborts when the caller has gone. */
  signal: AbortSignal;
};

/** `data` undefined: 304, what the caller has is still right. */
export type Answer<Data = unknown> = { data: Data | undefined; headers?: Record<string, string> };

/** Makes one call of the database and answers; throws ApiError. */
export type Handler<Id extends OperationId> = (call: Call<Id>, deps: Deps) => Promise<Answer<AnswerOf<Id>>>;
