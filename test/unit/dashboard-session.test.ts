import { AuthApiError, AuthWeakPasswordError } from "@supabase/auth-js";
import { describe, expect, test } from "vitest";
import { KeyframeError, type KeyframeErrorCode } from "../../client/index.ts";
import { isPassing } from "../../dashboard/src/app/query-client.ts";
import { authSentence } from "../../dashboard/src/session/use-auth-form.ts";
import { errorSentence } from "../../dashboard/src/ui/errors.ts";
import { readLink } from "../../dashboard/src/session/start-session.ts";

describe("what the link of a mail brought", () => {
  test.each([
    ["nothing", "", { isFromMail: false, isRecovery: false, problem: null }],
    ["a page of ours", "#/projects/1?a=b", { isFromMail: false, isRecovery: false, problem: null }],
    ["a page of ours that speaks of errors", "#/sign-in?back=/x&error=1", { isFromMail: false, problem: null }],
    ["a confirmed address", "#access_token=t&refresh_token=r&type=signup", { isFromMail: true, isRecovery: false }],
    ["a new password", "#access_token=t&refresh_token=r&type=recovery", { isFromMail: true, isRecovery: true }],
    ["a recovery without a session", "#type=recovery", { isFromMail: false, isRecovery: false }],
    [
      "a link that was used",
      "#error=access_denied&error_code=otp_expired&error_description=Email+link+is+invalid",
      { isFromMail: true, isRecovery: false, problem: "This link has expired or was already used. Request a new one." },
    ],
    ["another refusal", "#error=server_error&error_description=No+such+user", { problem: "No such user" }],
    ["a refusal without words", "#error=x", { problem: "The link is not valid. Request a new one." }],
  ])("%s", (_, hash, outcome) => {
    expect(readLink({ hash })).toMatchObject(outcome);
  });
});

describe("what Auth refused, in words", () => {
  test.each([
    ["invalid_credentials", "Wrong email or password."],
    ["email_not_confirmed", "This email address is not confirmed. Open the link in the email we sent you."],
    ["user_already_exists", "An account with this email already exists. Sign in or reset your password."],
    ["email_exists", "An account with this email already exists. Sign in or reset your password."],
    ["same_password", "This is your current password. Choose a new one."],
    ["over_request_rate_limit", "Too many attempts. Wait a minute, then try again."],
    ["over_email_send_rate_limit", "Too many emails requested. Wait a few minutes, then try again."],
    ["session_not_found", "Your session has expired. Sign in or request a new link."],
    ["session_expired", "Your session has expired. Sign in or request a new link."],
    ["user_banned", "This account is blocked. Contact the administrator."],
    ["signup_disabled", "Sign-up is disabled. Ask the administrator for an account."],
    ["of_a_later_version", "As Auth says."],
  ])("%s → “%s”", (code, words) => {
    expect(authSentence(new AuthApiError("As Auth says.", 400, code))).toBe(words);
  });

  test("a password that the project finds too weak → with what the project asks for", () => {
    const asked = "Password should be at least 12 characters.";
    const error = new AuthWeakPasswordError(asked, 422, ["length"]);
    expect(authSentence(error)).toBe(`This password is too weak. ${asked}`);
  });
});

test.each<[code: KeyframeErrorCode, status: number | null, passes: boolean]>([
  ["network", null, true],
  ["no_token", null, true],
  ["unavailable", 500, true],
  ["rate_limited", 429, true],
  ["not_an_envelope", 502, true],
  ["not_an_envelope", 524, true],
  ["not_an_envelope", 546, true],
  ["not_an_envelope", 200, false],
  ["not_an_envelope", 404, false],
  ["internal", 500, false],
  ["not_found", 404, false],
  ["unauthorized", 401, false],
])("a read that ended with %s (%s) → asked for again for as long as the page is open: %s", (code, status, passes) => {
  expect(isPassing(new KeyframeError(code, "No.", { status }))).toBe(passes);
});

const title = { path: "title", message: "Is required." };
test.each<[code: KeyframeErrorCode, details: (typeof title)[], words: string]>([
  ["network", [], "Cannot reach the service. Check your connection, then try again."],
  ["no_token", [], "Cannot reach the service. Check your connection, then try again."],
  ["invalid_request", [title, { path: "", message: "Too much." }], "title: Is required. Too much."],
  ["invalid_request", [], "As the service says."],
  ["precondition_failed", [], "It was changed elsewhere meanwhile. Check it, then try again."],
  ["internal", [], "As the service says."],
])("a request that failed with %s and %o → “%s”", (code, details, words) => {
  expect(errorSentence(new KeyframeError(code, "As the service says.", { details }))).toBe(words);
});

test("an error of the page itself → not asked for again", () => {
  expect(isPassing(new TypeError("no such field"))).toBe(false);
});
