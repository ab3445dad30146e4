import { createClient } from "@supabase/supabase-js";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { describe, expect, inject, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { signUpAt } from "../support/api/sign-up.ts";

// The local Auth against what Supabase Auth 2.196.0 answered to the same requests. What else was tried with it:
// docs/decisions/0049-the-local-auth-answers-as-recorded.md.

const { url, publishableKey } = inject("stack");
const sql = openDatabase();
const client = () =>
  createClient(url, publishableKey, { auth: { persistSession: false, autoRefreshToken: false } }).auth;
const said = ({ error }: { error: { status?: number | undefined; code?: string | undefined } | null }) =>
  error === null ? "done" : `${error.status} ${error.code}`;
type Credentials = { email: string; password: string };

async function ask(method: string, path: string, token?: string, json?: unknown) {
  const response = await fetch(`${url}/auth/v1/${path}`, {
    method,
    headers: { apikey: publishableKey, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  const text = await response.text();
  return text === "" ? `${response.status}` : `${response.status} ${JSON.parse(text).error_code ?? "done"}`;
}

test("a session → an ES256 token with these claims, which a refresh keeps except for its times", async () => {
  const { supabase, session, email } = await signUpAt({ url, publishableKey });
  const { data } = await supabase.auth.refreshSession();
  for (const token of [session.access_token, data.session?.access_token ?? ""]) {
    expect(decodeProtectedHeader(token)).toEqual({ alg: "ES256", typ: "JWT", kid: expect.any(String) });
    const { sub, iat, exp, ...claims } = decodeJwt(token);
    expect((exp ?? 0) - (iat ?? 0)).toBe(3600);
    expect(claims).toEqual({
      iss: `${url}/auth/v1`,
      aud: "authenticated",
      role: "authenticated",
      ...{ email, phone: "" },
      app_metadata: { provider: "email", providers: ["email"] },
      user_metadata: { email, email_verified: true, phone_verified: false, sub },
      aal: "aal1",
      amr: [{ method: "password", timestamp: expect.any(Number) }],
      session_id: decodeJwt(session.access_token).session_id,
      is_anonymous: false,
    });
  }
});

describe("refused by Auth", () => {
  test.each<[what: string, ask: (user: Credentials) => Promise<string>, answer: string]>([
    ["a second sign-up", async (user) => said(await client().signUp(user)), "422 user_already_exists"],
    ["a short password", async () => said(await client().signUp(fresh("short"))), "422 weak_password"],
    ["no address", async () => said(await client().signUp({ ...fresh(), email: "nobody" })), "400 validation_failed"],
    [
      "a wrong password",
      async ({ email }) => said(await client().signInWithPassword({ email, password: "another one" })),
      "400 invalid_credentials",
    ],
    ["nobody", async () => said(await client().signInWithPassword(fresh())), "400 invalid_credentials"],
    ["an anonymous sign-in", async () => said(await client().signInAnonymously()), "422 anonymous_provider_disabled"],
    [
      "a refresh token that is none",
      async () => said(await client().refreshSession({ refresh_token: "unknown" })),
      "400 validation_failed",
    ],
    ["a token that is none", () => ask("GET", "user", "a.b.c"), "403 bad_jwt"],
    ["another grant", () => ask("POST", "token?grant_type=odd", undefined, {}), "400 invalid_credentials"],
  ])("%s → refused by Auth with its code", async (_, attempt, answer) => {
    expect(await attempt(await signUpAt({ url, publishableKey }))).toBe(answer);
  });
  const fresh = (password = "a long enough password") => ({ email: `${crypto.randomUUID()}@keyframe.local`, password });
});

test.each([
  ["local", "400 refresh_token_not_found", "done"],
  ["others", "done", "400 refresh_token_not_found"],
  ["global", "400 refresh_token_not_found", "400 refresh_token_not_found"],
] as const)("sign-out with scope %s on one of two devices → there %s, on the other %s", async (scope, here, there) => {
  const { supabase, session, email, password } = await signUpAt({ url, publishableKey });
  const other = client();
  await other.signInWithPassword({ email, password });
  expect(said(await supabase.auth.signOut({ scope }))).toBe("done");
  expect(said(await client().refreshSession(session))).toBe(here);
  expect(said(await other.refreshSession())).toBe(there);
  if (scope !== "others") expect(await ask("GET", "user", session.access_token)).toBe("403 session_not_found");
});

test("a used refresh token is used again → at once the session that it was exchanged for, later refused", async () => {
  const { supabase, session } = await signUpAt({ url, publishableKey });
  const first = { refresh_token: session.refresh_token };
  const { data } = await supabase.auth.refreshSession();
  const again = await client().refreshSession(first);
  expect(again.data.session?.refresh_token).toBe(data.session?.refresh_token);
  await supabase.auth.refreshSession();
  await sql`update auth.refresh_tokens set updated_at = now() - interval '1 hour' where user_id::text = ${session.user.id}`;
  expect(said(await client().refreshSession(first))).toBe("400 refresh_token_already_used");
});

test("a new password → this session goes on, the others end; the present password again → refused", async () => {
  const { supabase, email, password } = await signUpAt({ url, publishableKey });
  const other = client();
  await other.signInWithPassword({ email, password });
  expect(said(await supabase.auth.updateUser({ password }))).toBe("422 same_password");
  expect(said(await supabase.auth.updateUser({ password: "a quite new password" }))).toBe("done");
  expect(said(await supabase.auth.refreshSession())).toBe("done");
  expect(said(await other.refreshSession())).toBe("400 refresh_token_not_found");
});

test("a user changes app_metadata → 403 not_admin; user_metadata → in the next token", async () => {
  const { supabase, session } = await signUpAt({ url, publishableKey });
  expect(await ask("PUT", "user", session.access_token, { app_metadata: { admin: true } })).toBe("403 not_admin");
  await supabase.auth.updateUser({ data: { name: "Anna" } });
  const { data } = await supabase.auth.refreshSession();
  expect(decodeJwt(data.session?.access_token ?? "")).toMatchObject({ user_metadata: { name: "Anna" } });
});

test("a banned user signs in, refreshes or asks for data of Auth → refused; an older token works at the API until it expires", async () => {
  const { supabase, session, email, password } = await signUpAt({ url, publishableKey });
  await sql`update auth.users set banned_until = now() + interval '1 hour' where id = ${session.user.id}`;
  expect(said(await client().signInWithPassword({ email, password }))).toBe("400 user_banned");
  expect(said(await supabase.auth.refreshSession())).toBe("400 user_banned");
  expect(await ask("GET", "user", session.access_token)).toBe("403 user_banned");
  const headers = { authorization: `Bearer ${session.access_token}` };
  expect((await fetch(`${url}/functions/v1/api/projects`, { headers })).status).toBe(200);
  await sql`update auth.users set banned_until = null where id = ${session.user.id}`;
  expect(said(await client().signInWithPassword({ email, password }))).toBe("done");
});

test("a deleted user's token → 403 user_not_found, and no refresh", async () => {
  const { supabase, session } = await signUpAt({ url, publishableKey });
  await sql`delete from auth.users where id = ${session.user.id}`;
  expect(await ask("GET", "user", session.access_token)).toBe("403 user_not_found");
  expect(said(await supabase.auth.refreshSession())).toBe("400 refresh_token_not_found");
});

test.each(["/auth/v1/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/auth/v1"])(
  "%s, while the OAuth server is off → 404 feature_disabled, without a key",
  async (path) => {
    const answer = await fetch(url + path);
    const refusal = { code: 404, error_code: "feature_disabled", msg: "OAuth server is disabled" };
    expect([answer.status, await answer.json()]).toEqual([404, refusal]);
  },
);
