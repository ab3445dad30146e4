import { createSafeContext } from "@mantine/core";
import type { Session } from "@supabase/auth-js";
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

export const [SessionContext, useSession] = createSafeContext<SessionState>(
  "useSession must be called inside SessionProvider.",
);

/** Of the signed-in user; empty without one. */
export const useUserId = (): string => useSession().session?.user.id ?? "";
