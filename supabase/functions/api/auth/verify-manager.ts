import type { Caller } from "../call.ts";
import { readProjectKey } from "./project-key.ts";
import type { SessionVerifier } from "./verify-session.ts";

/** Decides who manages webhooks: a user by their session, or the project by its secret key. Throws unauthorized. */
export type ManagerVerifier = (headers: Headers) => Promise<Caller>;

/** Beside a session the right key changes nothing: the session says who calls. */
export function createManagerVerifier(verifySession: SessionVerifier, secretKey: string): ManagerVerifier {
  return async (headers) => {
    const authorization = headers.get("authorization");
    const key = await readProjectKey(headers, secretKey);
    if (!key.given || (authorization !== null && !key.bearer)) return verifySession(authorization);
    return { ownerId: null, token: secretKey };
  };
}
