import { Anchor, Button, Group, Stack } from "@mantine/core";
import { IconArrowLeft, IconMapSearch } from "@tabler/icons-react";
import { Link, useParams } from "react-router";
import { KeyframeError } from "../../../client/index.ts";
import { EmptyState } from "../ui/EmptyState.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { PageHead } from "../ui/PageHead.tsx";
import { Endpoint } from "./Endpoint.tsx";
import { EndpointSkeleton } from "./EndpointSkeleton.tsx";
import { endpointName } from "./endpoint-name.ts";
import { SendTest } from "./SendTest.tsx";
import { useWebhook } from "./use-webhook.ts";

/** An address that names no endpoint of the person's, or one that is gone. */
const isMissing = (error: unknown): boolean =>
  error instanceof KeyframeError && ["not_found", "invalid_request"].includes(error.code);

/** One endpoint: how it fares, what was sent, its settings and its secret. */
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
    return (
      <EmptyState
        Icon={IconMapSearch}
        title="There is no such endpoint"
        text="It was deleted, or it is not yours."
        action={
          <Button component={Link} to="/webhooks">
            To the endpoints
          </Button>
        }
      />
    );
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
          <ErrorNotice title="The endpoint could not be read" error={error} onRetry={() => void refetch()} />
        )}
        {webhook === undefined && error === null && <EndpointSkeleton />}
        {webhook !== undefined && <Endpoint key={webhookId} webhook={webhook} />}
      </Stack>
    </>
  );
}
