import { Button, Card, Grid, Group, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import type { CreatedWebhook as Created, Webhook } from "../../../client/index.ts";
import { useKeyframe } from "../services.ts";
import link from "../ui/cover-link.module.css";
import { IconWebhook } from "../ui/Icons.tsx";
import { ListPage, Unread } from "../ui/PageParts.tsx";
import { NewButton } from "../ui/Buttons.tsx";
import { SendTest } from "./deliveries/SendTest.tsx";
import { endpointName, troubleWords } from "./endpoint.ts";
import { EndpointState, TroubleNotice } from "./EndpointState.tsx";
import { fillHours, type Health, sumHours, useHealth } from "./health.ts";
import { HealthNumbers, HourBars, LastSent } from "./HealthPanel.tsx";
import { HowToVerify, SecretText } from "./SecretText.tsx";
import { queryKeys } from "../queries/query-keys.ts";
import { useOnce } from "../queries/use-once.ts";
import type { WebhookSettings } from "./webhook-settings.ts";
import { useWebhookSettings, WebhookFields } from "./WebhookFields.tsx";
import { type DialogProps, FormDialog, useDialog } from "../ui/Dialogs.tsx";

export default function WebhooksPage() {
  const keyframe = useKeyframe();
  const read = useQuery({
    queryKey: queryKeys.webhooks,
    queryFn: async ({ signal }) => (await keyframe.webhooks.list({ signal })).webhooks, // the number of endpoints is limited: no pages
    refetchInterval: 15_000, // the service may disable one
  });
  const health = useHealth(null);
  const adding = useDialog();
  return (
    <ListPage
      title="Webhooks"
      text="Signed requests to your servers when a project is saved, and when a frame or video is ready."
      query={read}
      what="endpoints"
      heights={[160, 160]}
      isEmpty={read.data?.length === 0}
      create={<NewButton onClick={adding.open}>Add endpoint</NewButton>}
      empty={{
        Icon: IconWebhook,
        title: "No endpoints yet",
        text: "Add your server's URL. It receives a signed request for each event, retried until it answers.",
      }}
    >
      <Unread query={health} what="the last 24 hours" heights={[]} />
      <Stack component="ul" className="plain-list">
        {read.data?.map((webhook) => (
          <EndpointCard
            key={webhook.webhookId}
            webhook={webhook}
            health={health.data ?? (health.error === null ? undefined : null)}
          />
        ))}
      </Stack>
      <NewWebhook {...adding.dialog} />
    </ListPage>
  );
}

const NOTHING: WebhookSettings = { url: "", description: "", eventTypes: [] };

function NewWebhook({ isOpen, onClose }: DialogProps) {
  const create = useOnce((keyframe, settings: WebhookSettings, once) => keyframe.webhooks.create(settings, once));
  const { fields, error, submit, clear } = useWebhookSettings(NOTHING, create);
  const close = () => {
    clear();
    onClose();
  };
  return (
    <FormDialog
      title={create.data === undefined ? "Add endpoint" : "Endpoint added"}
      submit="Add endpoint"
      failed="Could not add the endpoint"
      size="lg"
      isOpen={isOpen}
      onClose={close}
      saving={{ ...create, error }}
      done={create.data && <CreatedWebhook webhook={create.data} onClose={close} />}
      onSubmit={(form) => submit(form, (changes) => create.mutate({ ...NOTHING, ...changes }))}
    >
      <WebhookFields {...fields} />
    </FormDialog>
  );
}

const CreatedWebhook = ({ webhook, onClose }: { webhook: Created; onClose: () => void }) => (
  <>
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
    <Group>
      <SendTest webhook={webhook} />
      <Button variant="default" component={Link} to={`/webhooks/${webhook.webhookId}`} onClick={onClose}>
        Open endpoint
      </Button>
    </Group>
  </>
);

type EndpointCardProps = {
  webhook: Webhook;
  /** Undefined while it loads. Null after an error. */
  health: Health | null | undefined;
};

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
