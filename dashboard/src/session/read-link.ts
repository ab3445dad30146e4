import { LINK_FAILED } from "./notices.ts";

/** What the link of a mail from Auth brought behind the #: a session, perhaps for a new password, or why it failed. */
export type AuthLink = { isFromMail: boolean; isRecovery: boolean; problem: string | null };

/** Read before the client of Auth takes the session out of the address. */
export function readLink({ hash }: { hash: string }): AuthLink {
  // A page of ours begins with a slash, whatever its query holds.
  const fragment = new URLSearchParams(hash.startsWith("#/") ? "" : hash.slice(1));
  const brings = fragment.has("access_token");
  const failed = fragment.has("error");
  return {
    isFromMail: brings || failed,
    isRecovery: brings && fragment.get("type") === "recovery",
    problem: failed ? problemOf(fragment) : null,
  };
}

function problemOf(fragment: URLSearchParams): string {
  return fragment.get("error_code") === "otp_expired"
    ? "This link has expired or was used already. Ask for a new one."
    : (fragment.get("error_description") ?? LINK_FAILED);
}
