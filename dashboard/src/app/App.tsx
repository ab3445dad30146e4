import { MantineProvider } from "@mantine/core";
import { useNotifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { type Services, ServicesContext } from "../services.ts";
import { SessionProvider } from "../session/SessionProvider.tsx";
import type { AuthLink, RestoredSession } from "../session/start-session.ts";
import { CrashBoundary } from "./CrashBoundary.tsx";
import { Pages } from "./Pages.tsx";
import { createQueryClient } from "../queries/query-client.ts";
import { cssVariables, theme } from "./theme.ts";

export function App({ services, link, restored }: { services: Services; link: AuthLink; restored: RestoredSession }) {
  const { auth, outputs } = services;
  // When the service refuses the session, the page signs out too.
  const [queries] = useState(() => createQueryClient(outputs, () => void auth.signOut({ scope: "local" })));
  return (
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <ServicesContext value={services}>
        <QueryClientProvider client={queries}>
          <SessionProvider link={link} restored={restored}>
            <CrashBoundary>
              <Pages />
            </CrashBoundary>
            <Toasts />
          </SessionProvider>
        </QueryClientProvider>
      </ServicesContext>
    </MantineProvider>
  );
}

/** The toasts load with the first message. If they cannot load, no message is shown. */
const LoadedToasts = lazy(() => import("./Toasts.tsx").catch(() => ({ default: () => <></> })));

function Toasts() {
  const { notifications } = useNotifications();
  return notifications.length === 0 ? null : (
    <Suspense>
      <LoadedToasts />
    </Suspense>
  );
}
