import { type GoTrueClient, isAuthRetryableFetchError, type Session } from "@supabase/auth-js";
import { ENDED, type Notice } from "./notices.ts";

/** Longer, and the page shows without the session, which is taken up when Auth answers. */
const PATIENCE_MS = 5_000;

const AWAY = "The service does not answer just now. Your session is kept: it goes on as soon as the service is back.";

/** What the dashboard starts with. */
export type TakenUp = { session: Session | null; notice: Notice };

/** Takes up the session that was kept, or that a link from a mail brought. Call it right after the client is made. */
export async function takeUpSession(auth: GoTrueClient): Promise<TakenUp> {
  // Also heard before the first page: a kept session that can no longer be refreshed.
  let hasEnded = false;
  const { data: listener } = auth.onAuthStateChange((event) => {
    if (event === "SIGNED_OUT") hasEnded = true;
  });
  const taken = auth.getSession().then(({ data, error }): TakenUp => {
    if (data.session !== null) return { session: data.session, notice: null };
    return { session: null, notice: hasEnded ? ENDED : isAuthRetryableFetchError(error) ? AWAY : null };
  });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<TakenUp>((resolve) => {
    timer = setTimeout(() => resolve({ session: null, notice: AWAY }), PATIENCE_MS);
  });
  return await Promise.race([taken, late]).finally(() => {
    clearTimeout(timer);
    listener.subscription.unsubscribe();
  });
}
