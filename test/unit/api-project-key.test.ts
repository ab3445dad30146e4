import { describe, expect, test } from "vitest";
import {
  createManagerVerifier,
  createProjectVerifier,
  createServerVerifier,
} from "../../supabase/functions/api/auth/project-key.ts";

const KEY = "sb_secret_of_the_project";
const OF_USER = { ownerId: "anna", token: "session", expiresAt: new Date(0) };
const OF_PROJECT = { ownerId: null, token: KEY };

/** A good session is "Bearer session"; any other is refused. */
const verifySession = async (authorization: string | null) => {
  if (authorization !== "Bearer session") throw new Error(`no session: ${authorization}`);
  return OF_USER;
};
const verifyManager = createManagerVerifier(verifySession, KEY);
const verifyProject = createProjectVerifier(KEY);
type Given = { authorization?: string; apikey?: string };
const refused = expect.objectContaining({ code: "unauthorized", extra: { headers: { "WWW-Authenticate": "Bearer" } } });

describe("the project's secret key → the service role, for the webhook paths and for the figures", () => {
  test.each<Given>([
    { apikey: KEY },
    { authorization: `Bearer ${KEY}` },
    { authorization: `bearer  ${KEY}`, apikey: KEY },
    { authorization: `Bearer ${KEY}`, apikey: "sb_publishable_x" },
  ])("%j", async (given) => {
    const headers = new Headers(given);
    expect([await verifyManager(headers), await verifyProject(headers)]).toEqual([OF_PROJECT, KEY]);
  });
});

describe("a wrong key → refused, never taken for none, and not repeated", () => {
  test.each<Given>([
    { apikey: "sb_secret_guess" },
    { apikey: `${KEY}x` },
    { apikey: "sb_secret_" },
    { apikey: KEY, authorization: "Bearer sb_secret_guess" },
    { apikey: "sb_secret_guess", authorization: `Bearer ${KEY}` },
    { apikey: `${KEY}, ${KEY}` },
    { apikey: "sb_secret_guess", authorization: "Bearer session" },
  ])("%j", async (given) => {
    for (const verify of [verifyManager, verifyProject]) {
      await expect(verify(new Headers(given))).rejects.toEqual(refused);
      await expect(verify(new Headers(given))).rejects.not.toThrow(/guess|of_the/);
    }
  });
});

describe("the right key beside what is no session → what Authorization says is judged as a session", () => {
  test.each(["Bearer x.y.z", "Bearer sb_publishable_x", `Basic ${KEY}`, ""])("%j", async (authorization) => {
    const headers = new Headers({ apikey: KEY, authorization });
    await expect(verifyManager(headers)).rejects.toThrow(`no session: ${authorization}`);
    await expect(verifyProject(headers)).rejects.toEqual(refused);
  });
});

test("a session, alone, beside the right key or the publishable one → the user; the figures are refused", async () => {
  const authorization = "Bearer session";
  for (const given of [
    { authorization },
    { authorization, apikey: KEY },
    { authorization, apikey: "sb_publishable" },
  ]) {
    expect(await verifyManager(new Headers(given))).toBe(OF_USER);
    await expect(verifyProject(new Headers(given))).rejects.toEqual(refused);
  }
});

// Who may not name a user: test/security/acting-servers.test.ts.
const USER = "5f0c9c0e-6f0e-4c55-9b3c-0a9d9f5d3c11";
const verifyServer = createServerVerifier(KEY);

test("the key and Keyframe-User → a server that acts for the user, whose id is in lower case from here on", async () => {
  for (const given of [{ apikey: KEY }, { authorization: `Bearer ${KEY}` }]) {
    const headers = new Headers({ ...given, "keyframe-user": USER.toUpperCase() });
    expect(await verifyServer(headers)).toEqual({ ownerId: USER, token: { secretKey: KEY, userId: USER } });
  }
});

test.each(["", "anna", `${USER}, ${USER}`, `${USER}0`, `{${USER}}`, "00000000", USER.replaceAll("-", "")])(
  "the key and Keyframe-User: %j → invalid_request that names the header",
  async (userId) => {
    const refusal = { code: "invalid_request", extra: { details: [{ path: "Keyframe-User" }] } };
    await expect(verifyServer(new Headers({ apikey: KEY, "keyframe-user": userId }))).rejects.toMatchObject(refusal);
  },
);
