import { createSafeContext } from "@mantine/core";
import type { Session } from "@supabase/auth-js";
import type { Notice } from "./start-session.ts";

export type SessionState = {
  /** Null when no user is signed in. */
  session: Session | null;
  notice: Notice;
  /** True after a reset link until a new password is set. */
  isRecovering: boolean;
  /** The user signed out on purpose: the next user starts at the projects, not at this page. */
  hasLeft: boolean;
  signOut: () => Promise<void>;
  endRecovery: () => void;
};

export const [SessionContext, useSession] = createSafeContext<SessionState>(
  "useSession must be called inside SessionProvider.",
);

/** Empty without a signed-in user. */
export const useUserId = (): string => useSession().session?.user.id ?? "";
