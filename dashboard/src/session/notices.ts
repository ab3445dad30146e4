/** What the sign-in page has to say: a session that ended, a link that failed, a service that is away. */
export type Notice = string | null;

export const ENDED = "Your session has ended. Sign in again; you come back to where you were.";

export const LINK_FAILED = "The link did not work. Ask for a new one.";
