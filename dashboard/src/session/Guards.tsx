import { Alert, Container, Group, Paper, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Navigate, Outlet, useLocation, useSearchParams } from "react-router";
import { Brand } from "../ui/Brand.tsx";
import { backOf } from "./start-session.ts";
import { useSession } from "./use-session.ts";

/** Sends users who are not signed in to the sign-in page and back. */
export function SignedIn() {
  const { session, isRecovering, hasLeft } = useSession();
  const { pathname, search } = useLocation();
  if (session === null) {
    const shouldReturn = pathname !== "/" && !hasLeft;
    const back = shouldReturn ? `?${new URLSearchParams({ back: pathname + search })}` : "";
    return <Navigate to={`/sign-in${back}`} replace />;
  }
  if (isRecovering && pathname !== "/new-password") return <Navigate to="/new-password" replace />;
  return <Outlet />;
}

/** Pages for signed-out users. Signed-in users continue to the page that they opened. */
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

/** The card is aligned to the top, so that a message in it moves nothing above it. */
export const SessionFrame = ({ children, above }: { children: ReactNode; above?: ReactNode }) => (
  <Container component="main" size={452} w="100%" px="md" pb="md" pt="clamp(1rem, 14vh, 9rem)">
    <Stack>
      <Group justify="center">
        <Brand />
      </Group>
      {above}
      <Paper withBorder p="xl">
        {children}
      </Paper>
      <Text size="sm" c="dimmed" ta="center">
        AI films on your own backend.
      </Text>
    </Stack>
  </Container>
);
