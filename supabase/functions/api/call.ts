import type { Log } from "../../../shared/log.ts";
import type { Database } from "./database.ts";
import type { Answer } from "./respond.ts";
import type { Storage } from "./storage.ts";
import type { ManagerVerifier } from "./verify-manager.ts";
import type { SessionVerifier } from "./verify-session.ts";

/** What the handlers stand on. */
export type Needs = {
  database: Database;
  storage: Storage;
  verifySession: SessionVerifier;
  /** For the webhook paths, which the project's secret key may call too. */
  verifyManager: ManagerVerifier;
  /** Why no webhook may be sent to this address, in a sentence; null when it may. */
  refuseUrl: (url: string) => string | null;
  log: Log;
};

/** Who calls; `ownerId` null: the project, by its secret key. `token` goes on to the platform, which decides by it. */
export type Caller = { ownerId: string | null; token: string };

/** One request of somebody who is known. `id` is the :id of the path, a UUID; "" where it has none. */
export type UserCall = { request: Request; url: URL; session: Caller; id: string };

/** Parses, makes one call of the database, answers; throws ApiError. */
export type UserHandler = (call: UserCall, needs: Needs) => Promise<Answer>;
