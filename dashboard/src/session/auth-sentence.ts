import { isAuthRetryableFetchError } from "@supabase/auth-js";

type Refusal = { message: string; code?: string | undefined; status?: number | undefined };

const SENTENCE: Record<string, string> = {
  invalid_credentials: "Email address and password do not fit. Check both, or reset your password.",
  email_not_confirmed: "This address is not confirmed yet. Follow the link in the mail that was sent to it.",
  user_already_exists: "There is an account with this address already. Sign in, or reset your password.",
  email_exists: "There is an account with this address already. Sign in, or reset your password.",
  same_password: "This is the password you had. Choose another one.",
  over_request_rate_limit: "Too many tries. Wait a minute, then try again.",
  over_email_send_rate_limit: "Too many mails were asked for. Wait a few minutes, then try again.",
  session_not_found: "Your session has ended. Sign in, or ask for a new link.",
  session_expired: "Your session has ended. Sign in, or ask for a new link.",
  user_banned: "This account is closed. Ask the administrator.",
  signup_disabled: "New accounts are switched off. Ask the administrator for one.",
};

/** What a person is told when Auth refuses; its own words where there are none better. */
export function authSentence(error: Refusal): string {
  if (isAuthRetryableFetchError(error)) return "The service does not answer. Check your connection, then try again.";
  // Only the project knows what it asks of a password, and says it.
  if (error.code === "weak_password") return `This password is too easy to guess. ${error.message}`;
  return SENTENCE[error.code ?? ""] ?? error.message;
}
