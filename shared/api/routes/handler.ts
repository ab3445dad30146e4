import type { AnswerOf, OperationId } from "../../contract/operations/index.ts";
import type { BodyReader } from "../../http/read-body.ts";
import type { Log } from "../../platform/log.ts";
import type { createProjectVerifiers } from "../auth/project-key.ts";
import type { Verifier } from "../auth/verify-session.ts";
import type { Database } from "../data/database.ts";
import type { createHealthCall } from "../data/health-call.ts";
import type { createSharedFilms } from "../data/shared-films.ts";
import type { Storage } from "../data/storage.ts";
import type { HoldClock } from "../http/hold-answer.ts";
import type { Call } from "../http/read-call.ts";
import type { createRefusals } from "../http/refusals.ts";
import type { Answer } from "../http/respond.ts";
import type { UploadTurns } from "../http/upload-turns.ts";

export type Deps = HoldClock &
  ReturnType<typeof createProjectVerifiers> & {
    database: Database;
    askHealth: ReturnType<typeof createHealthCall>;
    storage: Storage;
    sharedFilms: ReturnType<typeof createSharedFilms>;
    /** Reads JSON bodies. */
    readBody: BodyReader;
    acquireUploadTurn: UploadTurns;
    refusals: ReturnType<typeof createRefusals>;
    verifyUser: Verifier;
    platformUrl: string;
    /** A sentence that says why this URL may not receive webhooks; null when it may. */
    refuseUrl: (url: string) => Promise<string | null>;
    /** The text of openapi.json; `mount` is the path prefix of the function (app.ts). */
    openApi: (mount: string) => Promise<string>;
    log: Log;
    now: () => Date;
  };

/** Makes one database call and answers. Throws ApiError. The operation in the contract has its path, status and effect. */
export type Handler<Id extends OperationId> = (call: Call<Id>, deps: Deps) => Promise<Answer<AnswerOf<Id>>>;
