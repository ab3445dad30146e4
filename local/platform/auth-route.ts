import { decodeJwt } from "jose";
import { z } from "zod";
import { jsonText } from "../../shared/platform/json-text.ts";
import type { Lite } from "./create-lite.ts";
import { publicKeySet, reissueTokens, type SessionTokens, type SigningKey } from "./session-tokens.ts";

/** Answers that need neither a key nor lite, like those of a project whose OAuth server is not enabled. */
export function answerWellKnown(path: string, signingKey: SigningKey): Response | undefined {
  if (path === "/auth/v1/.well-known/jwks.json")
    return Response.json(publicKeySet(signingKey), { headers: { "cache-control": "public, max-age=600" } });
  if (/^(\/auth\/v1)?\/\.well-known\/oauth-authorization-server(\/|$)/.test(path))
    return refuse(404, "feature_disabled", "OAuth server is disabled");
  return undefined;
}

// lite says what is wrong with a body that is not JSON.
const userChange = jsonText.pipe(z.object({ password: z.string(), app_metadata: z.unknown() }).partial());
const session = jsonText.pipe(z.object({ access_token: z.string() }));

/**
 * Auth by lite, and what Supabase Auth does otherwise (test/conformance/auth.test.ts): it refuses banned users, lets no user change their
 * app_metadata, and ends a user's other sessions when the password changes.
 *
 * @param headers with the caller's token as lite takes it, which the gateway has verified
 */
export async function callAuth(
  { method, body }: Request,
  url: URL,
  headers: Headers,
  lite: Lite,
  tokens: SessionTokens,
): Promise<Response> {
  const bearer = /^Bearer (ey.+)$/.exec(headers.get("authorization") ?? "")?.[1];
  const caller = bearer === undefined ? undefined : decodeJwt(bearer);
  if (caller?.sub !== undefined && (await lite.isBanned(caller.sub))) {
    await body?.cancel();
    return refuse(403, "user_banned", "User is banned");
  }
  if (method !== "PUT" || url.pathname !== "/auth/v1/user") {
    const answer = await lite.fetch(new Request(url, { method, headers, body }));
    const isSignIn = url.pathname === "/auth/v1/token";
    return (isSignIn && (await refuseBanned(answer.clone(), url, lite))) || (await reissueTokens(answer, tokens));
  }
  const text = await new Response(body).text();
  const change = userChange.safeParse(text).data;
  if (change?.app_metadata != null) return refuse(403, "not_admin", "Updating app_metadata requires admin privileges");
  const answer = await lite.fetch(new Request(url, { method, headers, body: text }));
  if (answer.ok && change?.password !== undefined) await lite.endOtherSessions(String(caller?.session_id));
  return answer;
}

/** lite signs in even banned users. */
async function refuseBanned(answer: Response, url: URL, lite: Lite): Promise<Response | undefined> {
  const { data } = session.safeParse(await answer.text());
  if (data === undefined || !(await lite.isBanned(decodeJwt(data.access_token).sub ?? ""))) return undefined;
  const isRefresh = url.searchParams.get("grant_type") === "refresh_token";
  return refuse(400, "user_banned", isRefresh ? "Invalid Refresh Token: User Banned" : "User is banned");
}

const refuse = (code: number, error_code: string, msg: string) =>
  Response.json({ code, error_code, msg }, { status: code });
