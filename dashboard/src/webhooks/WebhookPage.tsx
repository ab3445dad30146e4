import { Divider, Grid, Group, Stack, Switch, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "react-router";
import type { Webhook } from "../../../client/index.ts";
import { forget } from "../queries/query-client.ts";
import { queryKeys } from "../queries/query-keys.ts";
import { useKeyframe } from "../services.ts";
import { IconTrash } from "../ui/Icons.tsx";
import { BackLink, Missing, PageHead, Panel, Unread } from "../ui/PageParts.tsx";
import { DeleteDialog, useDialog } from "../ui/Dialogs.tsx";
import { DeliveriesPanel } from "./deliveries/DeliveriesPanel.tsx";
import { SendTest } from "./deliveries/SendTest.tsx";
import { endpointName } from "./endpoint.ts";
import { TroubleNotice, useChangeWebhook } from "./EndpointState.tsx";
import { HealthPanel } from "./HealthPanel.tsx";
import { SecretPanel } from "./SecretPanel.tsx";
import { useWebhookSettings, WebhookFields } from "./WebhookFields.tsx";
import { BusyButton, SmallButton } from "../ui/Buttons.tsx";
import { isRefusal, unlessGone } from "../ui/errors.ts";
import { ErrorNotice, notify } from "../ui/Notices.tsx";

export default function WebhookPage() {
  const { webhookId = "" } = useParams();
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const read = useQuery({
    queryKey: queryKeys.webhook(webhookId),
    queryFn: ({ signal }) => keyframe.webhooks.read(webhookId, { signal }),
    placeholderData: () =>
      queries.getQueryData<Webhook[]>(queryKeys.webhooks)?.find((one) => one.webhookId === webhookId),
    refetchInterval: 15_000, // it may begin to fail, or be disabled
  });
  const webhook = read.data;
  if (isRefusal(read.error, "not_found", "invalid_request")) {
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

const Endpoint = ({ webhook }: { webhook: Webhook }) => (
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

function SettingsPanel({ webhook }: { webhook: Webhook }) {
  const change = useChangeWebhook(webhook.webhookId);
  const { fields, isChanged, error, submit, clear } = useWebhookSettings(webhook, change);
  const onSuccess = () => {
    clear();
    notify("Settings saved.");
  };
  return (
    <Panel title="Settings">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          submit(event.currentTarget, (changes) => change.mutate(changes, { onSuccess }));
        }}
      >
        <Stack>
          <EnabledSwitch webhook={webhook} />
          <Divider />
          <WebhookFields {...fields} />
          <ErrorNotice title="Could not save the settings" error={error} />
          <Group justify="flex-end">
            <BusyButton type="submit" isBusy={change.isPending} isDisabled={!isChanged}>
              Save
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Panel>
  );
}

function EnabledSwitch({ webhook }: { webhook: Webhook }) {
  const change = useChangeWebhook(webhook.webhookId);
  const isEnabled = change.isPending ? (change.variables.enabled ?? webhook.enabled) : webhook.enabled;
  return (
    <Stack gap="xs">
      <Switch
        label="Enabled"
        description="Takes effect at once. You can recover missed events."
        checked={isEnabled}
        aria-busy={change.isPending}
        onChange={(event) => {
          if (!change.isPending) change.mutate({ enabled: event.currentTarget.checked });
        }}
      />
      <ErrorNotice title="Could not change the endpoint" error={change.error} />
    </Stack>
  );
}

function DeletePanel({ webhook }: { webhook: Webhook }) {
  const navigate = useNavigate();
  const deleting = useDialog();
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const removal = useMutation({
    mutationFn: async () => void (await keyframe.webhooks.delete(webhook.webhookId).catch(unlessGone)),
    onSuccess: () => {
      void navigate("/webhooks", { replace: true });
      forget(queries, webhook.webhookId);
    },
  });
  return (
    <Panel title="Delete">
      <Text size="sm" c="dimmed" mb="md">
        Also deletes its secrets and deliveries. To pause events, disable the endpoint instead.
      </Text>
      <Group>
        <SmallButton Icon={IconTrash} onClick={deleting.open}>
          Delete…
        </SmallButton>
      </Group>
      <DeleteDialog noun="endpoint" {...deleting.dialog} removal={removal}>
        {webhook.url} receives no more events, and its pending deliveries are dropped. This cannot be undone.
      </DeleteDialog>
    </Panel>
  );
}
