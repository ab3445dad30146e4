import type { Log } from "../../../shared/log.ts";
import type { Database } from "./database.ts";
import type { Answer } from "./respond.ts";
import type { Storage } from "./storage.ts";
import type { Session, SessionVerifier } from "./verify-session.ts";

/** What the handlers stand on. */
export type Needs = { database: Database; storage: Storage; verifySession: SessionVerifier; log: Log };

/** One request of somebody who is signed in. */
export type UserCall = { request: Request; url: URL; session: Session };

/** Parses, makes one call of the database, answers; throws ApiError. */
export type UserHandler = (call: UserCall, needs: Needs) => Promise<Answer>;
