import type { AnswerOf, OperationId } from "../../contract/operations/index.ts";
import type { BodyReader } from "../../http/read-body.ts";
import type { Log } from "../../platform/log.ts";
import type { ManagerVerifier, ProjectVerifier, ServerVerifier } from "../auth/project-key.ts";
import type { UserVerifier } from "../auth/verify-session.ts";
import type { HoldClock } from "../http/hold-answer.ts";
import type { Call } from "../http/read-call.ts";
import type { Refusals } from "../http/refusals.ts";
import type { Answer } from "../http/respond.ts";
import type { UploadTurns } from "../http/upload-turns.ts";
import type { Database } from "../data/database.ts";
import type { HealthCall } from "../data/health-call.ts";
import type { SharedFilms } from "../data/shared-films.ts";
import type { Storage } from "../data/storage.ts";

/** The dependencies of the handlers. */
export type Deps = HoldClock & {
  database: Database;
  askHealth: HealthCall;
  storage: Storage;
  sharedFilms: SharedFilms;
  /** Reads JSON bodies. */
  readBody: BodyReader;
  acquireUploadTurn: UploadTurns;
  refusals: Refusals;
  verifyUser: UserVerifier;
  /** Authenticates the webhook paths, which also accept the project's secret key. */
  verifyManager: ManagerVerifier;
  /** Authenticates reads of the figures, which need the project's secret key. */
  verifyProject: ProjectVerifier;
  /** Authenticates requests with Keyframe-User. */
  verifyServer: ServerVerifier;
  platformUrl: string;
  /** A sentence that says why this URL may not receive webhooks; null when it may. */
  refuseUrl: (url: string) => Promise<string | null>;
  /** The text of openapi.json; `mount` is the path prefix of the function (app.ts). */
  openApi: (mount: string) => Promise<string>;
  log: Log;
  now: () => Date;
};

/** Makes one database call and answers. Throws ApiError. */
export type Handler<Id extends OperationId> = (call: Call<Id>, deps: Deps) => Promise<Answer<AnswerOf<Id>>>;
