import type { Session } from "@supabase/auth-js";
import { createContext, useContext } from "react";
import type { Notice } from "./start-session.ts";

export type SessionState = {
  /** Null when no user is signed in. */
  session: Session | null;
  notice: Notice;
  /** True after a reset link until a new password is set. */
  isRecovering: boolean;
  /** Signed out on purpose: the next user starts at the projects, not at this page. */
  hasLeft: boolean;
  signOut: () => Promise<void>;
  endRecovery: () => void;
};

export const SessionContext = createContext<SessionState | null>(null);

export function useSession(): SessionState {
  const state = useContext(SessionContext);
  if (state === null) throw new Error("useSession must be called inside SessionProvider.");
  return state;
}
