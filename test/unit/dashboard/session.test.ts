import { AuthApiError, type AuthError, AuthWeakPasswordError } from "@supabase/auth-js";
import { expect, test } from "vitest";
import { KeyframeError, type KeyframeErrorCode } from "../../../client/index.ts";
import { isPassing } from "../../../dashboard/src/queries/query-client.ts";
import { authSentence } from "../../../dashboard/src/session/use-auth-form.ts";
import { errorSentence } from "../../../dashboard/src/ui/errors.ts";
import { backOf, readLink } from "../../../dashboard/src/session/start-session.ts";

const failure = (code: KeyframeErrorCode, status: number | null) => new KeyframeError(code, "No.", { status });

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
])("an address with %s → read as the link of a mail, or not", (_, hash, outcome) => {
  expect(readLink({ hash })).toMatchObject(outcome);
});

test.each([
  ["/webhooks?a=b", "/webhooks?a=b"],
  [null, "/projects"],
  ["https://evil.example/", "/projects"],
  ["//evil.example", "/projects"],
  ["/\\evil.example", "/projects"],
])("the page to return to after sign-in is %s → %s", (back, page) => {
  expect(backOf(back)).toBe(page);
});

test.each<[error: AuthError, words: string]>([
  [new AuthApiError("As Auth says.", 400, "invalid_credentials"), "Wrong email or password."],
  [new AuthApiError("As Auth says.", 400, "of_a_later_version"), "As Auth says."],
  [
    new AuthWeakPasswordError("At least 12 characters.", 422, ["length"]),
    "This password is too weak. At least 12 characters.",
  ],
])("Auth refused with %o → “%s”", (error, words) => {
  expect(authSentence(error)).toBe(words);
});

test("sign-in errors that users can fix → shown in our words", () => {
  const known = [
    "email_not_confirmed",
    "user_already_exists",
    "email_exists",
    "same_password",
    "user_banned",
    "signup_disabled",
  ];
  const limits = ["over_request_rate_limit", "over_email_send_rate_limit", "session_not_found", "session_expired"];
  for (const code of [...known, ...limits])
    expect(authSentence(new AuthApiError("As Auth says.", 400, code)), code).not.toBe("As Auth says.");
});

test.each<[error: Error, passes: boolean]>([
  ...(["network", "no_token", "unavailable", "rate_limited"] as const).map((code): [Error, boolean] => [
    failure(code, null),
    true,
  ]),
  [failure("not_an_envelope", 502), true],
  [failure("not_an_envelope", 404), false],
  [failure("internal", 500), false],
  [new TypeError("an error of the page itself"), false],
])("a read that ended with %o → asked for again for as long as the page is open: %s", (error, passes) => {
  expect(isPassing(error)).toBe(passes);
});

const title = { path: "title", message: "Is required." };
test.each<[code: KeyframeErrorCode, details: (typeof title)[], words: string]>([
  ["network", [], "Cannot reach the service. Check your connection, then try again."],
  ["no_token", [], "Cannot reach the service. Check your connection, then try again."],
  ["invalid_request", [title, { path: "", message: "Too much." }], "title: Is required. Too much."],
  ["invalid_request", [], "As the service says."],
  ["precondition_failed", [], "It was changed elsewhere. Check it, then try again."],
  ["internal", [], "As the service says."],
])("a request that failed with %s and %o → “%s”", (code, details, words) => {
  expect(errorSentence(new KeyframeError(code, "As the service says.", { details }))).toBe(words);
});
