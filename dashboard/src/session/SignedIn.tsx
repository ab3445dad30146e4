import { Navigate, Outlet, useLocation } from "react-router";
import { useSession } from "./session-context.ts";

/** Only for somebody who is signed in; others sign in first and come back. */
export function SignedIn() {
  const { session, isRecovering, hasLeft } = useSession();
  const { pathname, search } = useLocation();
  if (session === null) {
    const isBackWanted = pathname !== "/" && !hasLeft;
    const back = isBackWanted ? `?${new URLSearchParams({ back: pathname + search })}` : "";
    return <Navigate to={`/sign-in${back}`} replace />;
  }
  if (isRecovering && pathname !== "/new-password") return <Navigate to="/new-password" replace />;
  return <Outlet />;
}
