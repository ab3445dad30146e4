import { ApiError } from "../../../shared/errors.ts";
import type { Caller } from "./call.ts";
import type { SessionVerifier } from "./verify-session.ts";

/** Decides who manages webhooks: a user by their session, or the project by its secret key. Throws unauthorized. */
export type ManagerVerifier = (headers: Headers) => Promise<Caller>;

/**
 * The secret key may stand in `apikey`, as clients send it now, or in Authorization, as older ones do. A wrong one is
 * refused, never taken for an absent one. Beside a session the right key changes nothing: the session says who calls.
 */
export function createManagerVerifier(verifySession: SessionVerifier, secretKey: string): ManagerVerifier {
  return async (headers) => {
    const authorization = headers.get("authorization");
    const bearer = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization ?? "")?.[1];
    const keys = [headers.get("apikey"), bearer].filter((value) => value?.startsWith("sb_secret_"));
    if (keys.length === 0) return verifySession(authorization);
    for (const key of keys) {
      if (!(await isSame(key ?? "", secretKey))) throw wrongKey();
    }
    if (authorization !== null && !keys.includes(bearer)) return verifySession(authorization);
    return { ownerId: null, token: secretKey };
  };
}

/** Compares digests, each byte of them, so that the time it takes tells nothing of the key. */
async function isSame(given: string, expected: string): Promise<boolean> {
  const digest = async (text: string) =>
    new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  const [one, other] = await Promise.all([digest(given), digest(expected)]);
  return one.reduce((difference, byte, at) => difference | (byte ^ (other[at] ?? 0)), 0) === 0;
}

const wrongKey = () =>
  new ApiError(
    "unauthorized",
    "The secret key is not this project's. Send the right one as apikey, or sign in and send the session token as Authorization: Bearer <token>.",
    { headers: { "WWW-Authenticate": "Bearer" } },
  );
