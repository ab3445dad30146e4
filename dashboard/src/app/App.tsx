import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { type Services, ServicesContext } from "../services.ts";
import { SessionProvider } from "../session/SessionProvider.tsx";
import type { AuthLink, TakenUp } from "../session/start-session.ts";
import { CrashBoundary } from "./CrashBoundary.tsx";
import { Pages } from "./Pages.tsx";
import { createQueryClient } from "./query-client.ts";
import { cssVariables, theme } from "./theme.ts";

type Props = { services: Services; link: AuthLink; takenUp: TakenUp };

/** Providers that all pages share. */
export function App({ services, link, takenUp }: Props) {
  // The service refused the session: sign out here too.
  const [queries] = useState(() => createQueryClient(() => void services.auth.signOut({ scope: "local" })));
  return (
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <ServicesContext value={services}>
        <QueryClientProvider client={queries}>
          <SessionProvider link={link} takenUp={takenUp}>
            <CrashBoundary>
              <Pages />
            </CrashBoundary>
            <Notifications position="bottom-right" />
          </SessionProvider>
        </QueryClientProvider>
      </ServicesContext>
    </MantineProvider>
  );
}
