import { Button, Card, Grid, Group, Modal, Skeleton, Stack, Text, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { lazy, Suspense } from "react";
import { Link } from "react-router";
import type { CreatedWebhook as Created, Webhook } from "../../../client/index.ts";
import link from "../ui/cover-link.module.css";
import { IconWebhook } from "../ui/icons.tsx";
import { EmptyState, PageHead, Unread } from "../ui/page-parts.tsx";
import { NewButton } from "../ui/buttons.tsx";
import { SendTest } from "./deliveries/SendTest.tsx";
import { endpointName, troubleWords } from "./endpoint.ts";
import { EndpointState, TroubleNotice } from "./EndpointState.tsx";
import { fillHours, type Health, sumHours, useHealth } from "./health.ts";
import { HealthNumbers, HourBars, LastSent } from "./HealthPanel.tsx";
import { HowToVerify, SecretText } from "./secret-text.tsx";
import { useCreateWebhook, useWebhooks } from "./webhook-queries.ts";
import { focusIfLost, focusOnMount, useIsOnTop } from "../ui/window-focus.ts";

export function Component() {
  const read = useWebhooks();
  const webhooks = read.data;
  const health = useHealth(null);
  const [isNew, { open, close }] = useDisclosure(false);
  const add = <NewButton onClick={open}>Add endpoint</NewButton>;
  return (
    <>
      <PageHead
        title="Webhooks"
        text="Signed requests to your servers when a project is saved, and when a frame or video is ready."
        actions={webhooks?.length === 0 || read.isPending ? null : add}
      />
      <Stack gap="lg">
        <Unread query={read} what="endpoints" heights={[160, 160]} />
        <Unread query={health} what="the last 24 hours" heights={[]} />
        {webhooks?.length === 0 && (
          <EmptyState
            Icon={IconWebhook}
            title="No endpoints yet"
            text="Add your server's URL. It receives a signed request for each event, retried until it answers."
            action={add}
          />
        )}
        {webhooks !== undefined && webhooks.length > 0 && (
          <Stack component="ul" className="plain-list">
            {webhooks.map((webhook) => (
              <EndpointCard
                key={webhook.webhookId}
                webhook={webhook}
                health={health.data ?? (health.error === null ? undefined : null)}
              />
            ))}
          </Stack>
        )}
      </Stack>
      <NewWebhook isOpen={isNew} onClose={close} />
    </>
  );
}

const WebhookForm = lazy(() => import("./WebhookForm.tsx"));

/** The form's height, so that the modal does not grow. */
const FORM_HEIGHT = 400;

/** Registers an endpoint, then shows its secret. */
function NewWebhook({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const create = useCreateWebhook();
  const close = () => {
    create.reset();
    onClose();
  };
  return (
    <Modal
      opened={isOpen}
      closeOnEscape={useIsOnTop(isOpen)}
      onClose={close}
      onExitTransitionEnd={focusIfLost} // the button of an empty page goes with the first endpoint
      title={create.data === undefined ? "Add endpoint" : "Endpoint added"}
      size="lg"
    >
      {create.data === undefined ? (
        <Suspense fallback={<Skeleton h={FORM_HEIGHT} />}>
          <WebhookForm saving={create} onSubmit={create.mutate} onCancel={close} />
        </Suspense>
      ) : (
        <CreatedWebhook webhook={create.data} onClose={close} />
      )}
    </Modal>
  );
}

function CreatedWebhook({ webhook, onClose }: { webhook: Created; onClose: () => void }) {
  return (
    <Stack>
      <Text size="sm">
        Events are now sent to <strong style={{ overflowWrap: "anywhere" }}>{webhook.url}</strong>.
      </Text>
      <div>
        <Title order={3} size="h5" mb={6}>
          Signing secret
        </Title>
        <SecretText secret={webhook.secret} />
        <Text size="sm" c="dimmed" mt="xs">
          You can see it again on the endpoint's page.
        </Text>
      </div>
      <div>
        <Title order={3} size="h5" mb={6}>
          How to verify
        </Title>
        <HowToVerify />
      </div>
      <Group justify="flex-end">
        <SendTest webhook={webhook} />
        <Button ref={focusOnMount} component={Link} to={`/webhooks/${webhook.webhookId}`} onClick={onClose}>
          Open endpoint
        </Button>
      </Group>
    </Stack>
  );
}

type EndpointCardProps = {
  webhook: Webhook;
  /** Undefined while loading, null after an error. */
  health: Health | null | undefined;
};

/** The whole card links to the endpoint. */
function EndpointCard({ webhook, health }: EndpointCardProps) {
  const known = health?.endpoints.find(({ endpoint_id }) => endpoint_id === webhook.webhookId);
  const sums = known && sumHours(known.hours);
  return (
    <Card component="li" withBorder padding="lg" className={link.card}>
      <Grid gap="md">
        <Grid.Col span={{ base: 12, sm: 7, md: 8 }}>
          <Stack gap={6}>
            <EndpointState webhook={webhook} sums={sums} />
            <Title order={2} size="h4">
              <Link to={`/webhooks/${webhook.webhookId}`} className={link.cover}>
                {endpointName(webhook)}
              </Link>
            </Title>
            <Text size="sm" c="dimmed" ff="monospace" style={{ overflowWrap: "anywhere" }}>
              {webhook.url}
            </Text>
            <Text size="sm" c="dimmed">
              {webhook.eventTypes.join(", ") || "All events"}
            </Text>
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, sm: 5, md: 4 }}>
          <Stack gap={6}>
            <HealthNumbers sums={health === null ? null : sums} />
            <HourBars hours={health && known ? fillHours(health.since, known.hours) : []} />
            <Group className={link.above} w="fit-content">
              <LastSent last={known?.last} />
            </Group>
          </Stack>
        </Grid.Col>
      </Grid>
      {troubleWords(webhook, Date.now()) !== null && (
        <div className={link.above} style={{ marginTop: "var(--mantine-spacing-md)" }}>
          <TroubleNotice webhook={webhook} />
        </div>
      )}
    </Card>
  );
}
