import { ApiError } from "../../../../shared/http/errors.ts";
import type { Caller, SessionVerifier } from "./verify-session.ts";

/** `given`: the right key was sent; `bearer`: it was in Authorization. */
export type ProjectKey = { given: boolean; bearer: boolean };

/**
 * Finds the project's secret key in `apikey` or, as older clients and Prometheus send it, in Authorization.
 * A wrong key throws unauthorized: it is never treated as absent.
 */
async function readProjectKey(headers: Headers, secretKey: string): Promise<ProjectKey> {
  const bearer = /^Bearer +([\x21-\x7e]+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  const keys = [headers.get("apikey"), bearer].filter((value) => value?.startsWith("sb_secret_"));
  for (const key of keys) {
    if (!(await isSame(key ?? "", secretKey))) throw wrongKey();
  }
  return { given: keys.length > 0, bearer: keys.includes(bearer) };
}

/** Compares every byte of the digests, so that the time it takes reveals nothing about the key. */
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

/** Authenticates the caller of the webhook paths: a user by session, or the project by its secret key. Throws unauthorized. */
export type ManagerVerifier = (headers: Headers) => Promise<Caller>;

/** When both a session and the key are sent, the session decides. */
export function createManagerVerifier(verifySession: SessionVerifier, secretKey: string): ManagerVerifier {
  return async (headers) => {
    const authorization = headers.get("authorization");
    const key = await readProjectKey(headers, secretKey);
    if (!key.given || (authorization !== null && !key.bearer)) return verifySession(authorization);
    return { ownerId: null, token: secretKey };
  };
}

/** Accepts only the project's secret key and returns it for the database call. Throws unauthorized. */
export type ProjectVerifier = (headers: Headers) => Promise<string>;

/** A session sent with the key is refused: it is a mistake of the caller. */
export function createProjectVerifier(secretKey: string): ProjectVerifier {
  return async (headers) => {
    const key = await readProjectKey(headers, secretKey);
    if (key.given && (key.bearer || headers.get("authorization") === null)) return secretKey;
    throw new ApiError(
      "unauthorized",
      "This takes the project's secret key (sb_secret_…) and nothing else. Send it as apikey, or as Authorization: Bearer <key>.",
      { headers: { "WWW-Authenticate": "Bearer" } },
    );
  };
}
