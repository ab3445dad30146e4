import type { Session, SessionVerifier } from "./verify-session.ts";

/** About a megabyte of tokens, and never more than a few: how long a token is, its user's metadata decide. */
const MOST_SESSIONS = 1000;
const LONGEST_KEPT = 4096;

/**
 * Remembers tokens that passed, because checking a signature costs more than all else a request does here (0.5 ms).
 * Safe, since nothing about a token can change but that it expires, which is looked at each time. Refusals are not kept.
 */
export function rememberSessions(verify: SessionVerifier, now: () => Date, most = MOST_SESSIONS): SessionVerifier {
  const known = new Map<string, Session>();
  return async (authorization) => {
    const kept = authorization === null ? undefined : known.get(authorization);
    if (kept !== undefined && kept.expiresAt > now()) return kept;
    if (authorization !== null) known.delete(authorization);
    const session = await verify(authorization);
    if (authorization === null || authorization.length > LONGEST_KEPT) return session;
    const oldest = known.keys().next().value;
    if (known.size >= most && oldest !== undefined) known.delete(oldest);
    known.set(authorization, session);
    return session;
  };
}
