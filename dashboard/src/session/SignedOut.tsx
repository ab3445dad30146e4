import { Alert } from "@mantine/core";
import { Navigate, Outlet, useSearchParams } from "react-router";
import { SessionFrame } from "./SessionFrame.tsx";
import { useSession } from "./session-context.ts";

/** Sign-in, sign-up and password reset. Somebody who is signed in goes on to where they wanted. */
export function SignedOut() {
  const { session, notice } = useSession();
  const [query] = useSearchParams();
  if (session !== null) return <Navigate to={backOf(query.get("back"))} replace />;
  const above = notice !== null && (
    <Alert color="yellow" role="status">
      {notice}
    </Alert>
  );
  return (
    <SessionFrame above={above}>
      <Outlet />
    </SessionFrame>
  );
}

/** Only a page of ours: an address that leads elsewhere is not followed. */
const backOf = (back: string | null): string => (back !== null && /^\/(?![/\\])/.test(back) ? back : "/projects");
