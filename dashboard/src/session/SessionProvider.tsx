import { notifications } from "@mantine/notifications";
import { useQueryClient } from "@tanstack/react-query";
import { Fragment, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { useServices } from "../app/services-context.ts";
import { ENDED, LINK_FAILED, type Notice } from "./notices.ts";
import type { AuthLink } from "./read-link.ts";
import { SessionContext, type SessionState } from "./session-context.ts";
import type { TakenUp } from "./take-up-session.ts";

type Props = { link: AuthLink; takenUp: TakenUp; children: ReactNode };

/** Follows the session, in this tab and the others. What one person has read goes when another signs in, or nobody is. */
export function SessionProvider({ link, takenUp, children }: Props) {
  const { auth } = useServices();
  const queries = useQueryClient();
  const [session, setSession] = useState(takenUp.session);
  const [notice, setNotice] = useState<Notice>(
    link.problem ?? takenUp.notice ?? (link.isFromMail ? LINK_FAILED : null),
  );
  const [isRecovering, setRecovering] = useState(link.isRecovery && takenUp.session !== null);
  const [hasLeft, setLeft] = useState(false);
  const owner = useRef(takenUp.session?.user.id);
  const isLeaving = useRef(false);

  useEffect(() => {
    const { data } = auth.onAuthStateChange((_event, next) => {
      const former = owner.current;
      owner.current = next?.user.id;
      setSession(next);
      if (next === null && former !== undefined) {
        setLeft(isLeaving.current);
        setNotice(isLeaving.current ? null : ENDED);
      }
      if (next !== null && former === undefined) setNotice(null);
      isLeaving.current = false;
      if (owner.current !== former) queries.clear();
    });
    return () => data.subscription.unsubscribe();
  }, [auth, queries]);

  // A link that failed, met by somebody who is signed in all the same: there is no sign-in page to say it.
  useEffect(() => {
    if (link.problem !== null && takenUp.session !== null) notifications.show({ color: "red", message: link.problem });
  }, [link, takenUp]);

  const state = useMemo<SessionState>(
    () => ({
      session,
      notice,
      isRecovering,
      hasLeft,
      signOut: async () => {
        isLeaving.current = true;
        await auth.signOut({ scope: "local" });
      },
      endRecovery: () => setRecovering(false),
    }),
    [auth, session, notice, isRecovering, hasLeft],
  );
  return (
    <SessionContext value={state}>
      {/* Another person gets pages of their own, not those that still hold what the former one was shown. */}
      <Fragment key={session?.user.id ?? "nobody"}>{children}</Fragment>
    </SessionContext>
  );
}
