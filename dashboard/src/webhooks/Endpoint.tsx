import { Grid, Stack } from "@mantine/core";
import { useState } from "react";
import type { Webhook } from "../../../client/index.ts";
import { DeletePanel } from "./DeletePanel.tsx";
import { DeliveriesPanel } from "./DeliveriesPanel.tsx";
import { HealthPanel } from "./HealthPanel.tsx";
import { SecretPanel } from "./SecretPanel.tsx";
import { SettingsPanel } from "./SettingsPanel.tsx";
import { TroubleNotice } from "./TroubleNotice.tsx";

/** The parts of an endpoint's page. */
export function Endpoint({ webhook }: { webhook: Webhook }) {
  const [isActive, setActive] = useState(false);
  return (
    <>
      <TroubleNotice webhook={webhook} />
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 8 }}>
          <Stack gap="lg">
            <HealthPanel webhook={webhook} isActive={isActive} />
            <DeliveriesPanel webhook={webhook} onActive={setActive} />
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}>
          <Stack gap="lg">
            <SettingsPanel webhook={webhook} />
            <SecretPanel webhookId={webhook.webhookId} />
            <DeletePanel webhook={webhook} />
          </Stack>
        </Grid.Col>
      </Grid>
    </>
  );
}
