import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import type { Services } from "../services.ts";
import type { AuthLink } from "../session/read-link.ts";
import { SessionProvider } from "../session/SessionProvider.tsx";
import type { TakenUp } from "../session/take-up-session.ts";
import { createQueryClient } from "./query-client.ts";
import { CrashBoundary } from "./CrashBoundary.tsx";
import { Pages } from "./Pages.tsx";
import { ServicesContext } from "./services-context.ts";
import { cssVariables, theme } from "./theme.ts";

type Props = { services: Services; link: AuthLink; takenUp: TakenUp };

/** Everything that pages share. */
export function App({ services, link, takenUp }: Props) {
  // A session that the service refuses is over here too; SessionProvider says so.
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
