import { type GoTrueClient, isAuthRetryableFetchError, type Session } from "@supabase/auth-js";

/** After this time, the page shows without a session. The session is restored when Auth answers. */
const TIMEOUT_MS = 5_000;

const UNREACHABLE = "Cannot reach the service. You stay signed in: the page continues when the service is back.";

export type RestoredSession = { session: Session | null; notice: Notice };

/** Restores the stored session or the one from an email link. Call it right after creating the client. */
export async function restoreSession(auth: GoTrueClient): Promise<RestoredSession> {
  // Auth sends SIGNED_OUT when the stored session can no longer be refreshed.
  let hasEnded = false;
  const { data: listener } = auth.onAuthStateChange((event) => {
    if (event === "SIGNED_OUT") hasEnded = true;
  });
  const read = auth.getSession().then(({ data, error }): RestoredSession => {
    if (data.session !== null) return { session: data.session, notice: null };
    return { session: null, notice: hasEnded ? ENDED : isAuthRetryableFetchError(error) ? UNREACHABLE : null };
  });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<RestoredSession>((resolve) => {
    timer = setTimeout(() => resolve({ session: null, notice: UNREACHABLE }), TIMEOUT_MS);
  });
  return await Promise.race([read, late]).finally(() => {
    clearTimeout(timer);
    listener.subscription.unsubscribe();
  });
}

/** The outcome of an email link from Auth, in the URL's fragment. */
export type AuthLink = { isFromMail: boolean; isRecovery: boolean; problem: string | null };

/** Reads an email link, before the Auth client removes it from the URL. */
export function readLink({ hash }: { hash: string }): AuthLink {
  // A fragment that begins with a slash is a route.
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
    ? "This link has expired or was already used. Request a new one."
    : (fragment.get("error_description") ?? LINK_FAILED);
}

/** A message for the sign-in page. */
export type Notice = string | null;

export const ENDED = "Your session has expired. Sign in to continue where you were.";

export const LINK_FAILED = "The link is not valid. Request a new one.";

/** Where to go after a sign-in. Only paths of this dashboard are accepted, to prevent an open redirect. */
export const backOf = (back: string | null): string =>
  back !== null && /^\/(?![/\\])/.test(back) ? back : "/projects";
