import type { Session } from "@supabase/auth-js";
import { createContext, useContext } from "react";
import type { Notice } from "./notices.ts";

export type SessionState = {
  /** Null when nobody is signed in. */
  session: Session | null;
  notice: Notice;
  /** True from a link for a new password until one has been set. */
  isRecovering: boolean;
  /** The person signed out here: whoever signs in next does not come back to the page they left. */
  hasLeft: boolean;
  signOut: () => Promise<void>;
  endRecovery: () => void;
};

export const SessionContext = createContext<SessionState | null>(null);

export function useSession(): SessionState {
  const state = useContext(SessionContext);
  if (state === null) throw new Error("useSession is for what stands inside SessionProvider.");
  return state;
}
