import { notifications } from "@mantine/notifications";
import { useQueryClient } from "@tanstack/react-query";
import { Fragment, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { useServices } from "../services.ts";
import { keepDraftsOf } from "./use-draft.ts";
import { type AuthLink, ENDED, LINK_FAILED, type Notice, type RestoredSession } from "./start-session.ts";
import { SessionContext, type SessionState } from "./use-session.ts";
import { UserMemoryProvider } from "./UserMemory.tsx";

type Props = { link: AuthLink; restored: RestoredSession; children: ReactNode };

/** Follows the session across tabs. Cached data is dropped when the user changes. */
export function SessionProvider({ link, restored, children }: Props) {
  const { auth, outputs } = useServices();
  const queries = useQueryClient();
  const [session, setSession] = useState(restored.session);
  /** The user whose drafts and memory are kept. */
  const [keptFor, setKeptFor] = useState(restored.session?.user.id);
  const [notice, setNotice] = useState<Notice>(
    link.problem ?? restored.notice ?? (link.isFromMail ? LINK_FAILED : null),
  );
  const [isRecovering, setRecovering] = useState(link.isRecovery && restored.session !== null);
  const [hasLeft, setLeft] = useState(false);
  const owner = useRef(restored.session?.user.id);
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
      // A session may expire while its user types, or before a start is answered.
      if (next !== null || isLeaving.current) {
        keepDraftsOf(next?.user.id);
        setKeptFor(next?.user.id);
      }
      isLeaving.current = false;
      if (owner.current === former) return;
      queries.clear();
      outputs.clear();
    });
    return () => data.subscription.unsubscribe();
  }, [auth, queries, outputs]);

  // While a user is signed in, no sign-in page shows that a link failed.
  useEffect(() => {
    if (link.problem !== null && restored.session !== null) notifications.show({ color: "red", message: link.problem });
  }, [link, restored]);

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
      <UserMemoryProvider key={keptFor}>
        {/* Remounts all pages for another user, so that no state of the former one remains. */}
        <Fragment key={session?.user.id ?? "nobody"}>{children}</Fragment>
      </UserMemoryProvider>
    </SessionContext>
  );
}
