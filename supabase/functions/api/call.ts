import type { Log } from "../../../shared/log.ts";
import type { Database } from "./database.ts";
import type { Storage } from "./storage.ts";
import type { Session, SessionVerifier } from "./verify-session.ts";

/** What the handlers stand on. */
export type Needs = { database: Database; storage: Storage; verifySession: SessionVerifier; log: Log };

/** One request. `step` is the part of the path that names it, where the route has one. */
export type Call = { request: Request; url: URL; step: string | undefined };

/** A request of somebody who is signed in. */
export type UserCall = Call & { session: Session };
