import { ApiError } from "../../../../shared/http/errors.ts";

/** `given`: the right key came; `bearer`: it stood in Authorization too, or alone there. */
export type ProjectKey = { given: boolean; bearer: boolean };

/**
 * Looks for the project's secret key: in `apikey`, as clients send it now, or in Authorization, as older ones and Prometheus do.
 * A wrong one is refused (unauthorized), never taken for an absent one.
 */
export async function readProjectKey(headers: Headers, secretKey: string): Promise<ProjectKey> {
  const bearer = /^Bearer +([\x21-\x7e]+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  const keys = [headers.get("apikey"), bearer].filter((value) => value?.startsWith("sb_secret_"));
  for (const key of keys) {
    if (!(await isSame(key ?? "", secretKey))) throw wrongKey();
  }
  return { given: keys.length > 0, bearer: keys.includes(bearer) };
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
