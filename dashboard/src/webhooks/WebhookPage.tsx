import { Grid, Stack } from "@mantine/core";
import { useParams } from "react-router";
import { KeyframeError, type Webhook } from "../../../client/index.ts";
import { BackLink, Missing, PageHead, Unread } from "../ui/page-parts.tsx";
import { DeliveriesPanel } from "./deliveries/DeliveriesPanel.tsx";
import { SendTest } from "./deliveries/SendTest.tsx";
import { endpointName } from "./endpoint.ts";
import { TroubleNotice } from "./EndpointState.tsx";
import { HealthPanel } from "./HealthPanel.tsx";
import { SecretPanel } from "./SecretPanel.tsx";
import { DeletePanel, SettingsPanel } from "./SettingsPanel.tsx";
import { useWebhook } from "./webhook-queries.ts";

/** Unknown, deleted or malformed id. */
const isMissing = (error: unknown): boolean =>
  error instanceof KeyframeError && ["not_found", "invalid_request"].includes(error.code);

export function Component() {
  const { webhookId = "" } = useParams();
  const read = useWebhook(webhookId);
  const webhook = read.data;
  if (isMissing(read.error)) {
    return <Missing title="Endpoint not found" to="/webhooks" label="Go to endpoints" />;
  }
  return (
    <>
      <BackLink to="/webhooks" label="All endpoints" />
      <PageHead
        title={webhook === undefined ? "Endpoint" : endpointName(webhook)}
        text={webhook?.url ?? "\u00a0"}
        actions={webhook === undefined ? null : <SendTest webhook={webhook} />}
      />
      <Stack gap="lg">
        <Unread query={read} what="the endpoint" heights={[420, 400]} />
        {webhook !== undefined && <Endpoint key={webhookId} webhook={webhook} />}
      </Stack>
    </>
  );
}

function Endpoint({ webhook }: { webhook: Webhook }) {
  return (
    <>
      <TroubleNotice webhook={webhook} />
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 8 }}>
          <Stack gap="lg">
            <HealthPanel webhook={webhook} />
            <DeliveriesPanel webhook={webhook} />
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
