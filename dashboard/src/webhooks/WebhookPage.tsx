import { Anchor, Grid, Group, Skeleton, Stack, VisuallyHidden } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { Link, useParams } from "react-router";
import { KeyframeError, type Webhook } from "../../../client/index.ts";
import { ErrorNotice } from "../ui/messages.tsx";
import { Missing, PageHead } from "../ui/page-parts.tsx";
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
  const { data: webhook, error, refetch } = useWebhook(webhookId);
  const back = (
    <Group mb="xs">
      <Anchor component={Link} to="/webhooks" size="sm">
        <Group component="span" gap={4}>
          <IconArrowLeft size={16} aria-hidden />
          All endpoints
        </Group>
      </Anchor>
    </Group>
  );
  if (isMissing(error)) {
    const text = "It was deleted or belongs to another account.";
    return <Missing title="Endpoint not found" text={text} to="/webhooks" label="Go to endpoints" />;
  }
  return (
    <>
      {back}
      <PageHead
        title={webhook === undefined ? "Endpoint" : endpointName(webhook)}
        text={webhook?.url ?? "\u00a0"}
        actions={webhook === undefined ? null : <SendTest webhook={webhook} />}
      />
      <Stack gap="lg">
        {error !== null && (
          <ErrorNotice title="Could not load the endpoint" error={error} onRetry={() => void refetch()} />
        )}
        {webhook === undefined && error === null && (
          <>
            <VisuallyHidden role="status">Loading the endpoint</VisuallyHidden>
            <Skeleton h={420} />
            <Skeleton h={400} />
          </>
        )}
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
