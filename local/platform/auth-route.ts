import { z } from "zod";
import type { SessionTokens } from "./session-tokens.ts";
import { publicKeySet, type SigningKey } from "./signing-key.ts";

const metadata = z.record(z.string(), z.unknown()).optional();
const userSchema = z.looseObject({ app_metadata: metadata, user_metadata: metadata });
const sessionSchema = z.looseObject({
  access_token: z.string().optional(),
  user: userSchema.nullish(),
  session: z.looseObject({ access_token: z.string(), user: userSchema.nullish() }).nullish(),
});

/** Answers of Auth that lite cannot give, because it has no key pair. Undefined for every other path. */
export function answerWellKnown(path: string, key: SigningKey, issuer: string): Response | undefined {
  const headers = { "cache-control": "public, max-age=600" };
  if (path === "/auth/v1/.well-known/jwks.json") return Response.json(publicKeySet(key), { headers });
  if (path === "/auth/v1/.well-known/openid-configuration") {
    return Response.json({ issuer, jwks_uri: `${issuer}/.well-known/jwks.json` }, { headers });
  }
  return undefined;
}

/** Puts our tokens in the place of lite's, in a JSON answer and in the address a mail link leads to. */
export async function reissueTokens(response: Response, tokens: SessionTokens): Promise<Response> {
  const headers = new Headers(response.headers);
  const location = headers.get("location");
  if (location?.includes("access_token=")) {
    const target = new URL(location);
    const fragment = new URLSearchParams(target.hash.slice(1));
    fragment.set("access_token", await tokens.issue(fragment.get("access_token") ?? ""));
    target.hash = fragment.toString();
    headers.set("location", target.href);
    return new Response(response.body, { status: response.status, headers });
  }
  if (!headers.get("content-type")?.includes("json")) return response;
  const body: unknown = await response.json();
  headers.delete("content-length");
  const { data } = sessionSchema.safeParse(body);
  if (data) {
    if (data.access_token !== undefined) data.access_token = await tokens.issue(data.access_token, data.user ?? {});
    const session = data.session;
    if (session) session.access_token = await tokens.issue(session.access_token, session.user ?? data.user ?? {});
    return Response.json(data, { status: response.status, headers });
  }
  return Response.json(body, { status: response.status, headers });
}
