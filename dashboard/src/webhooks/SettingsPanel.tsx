import { Button, Divider, Group, Modal, Skeleton, Stack, Switch, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconTrash } from "@tabler/icons-react";
import { lazy, Suspense } from "react";
import { useNavigate } from "react-router";
import type { Webhook } from "../../../client/index.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/messages.tsx";
import { Panel } from "../ui/page-parts.tsx";
import { useChangeWebhook, useDeleteWebhook } from "./webhook-queries.ts";

// Lazy: it brings the contract's schemas.
const SettingsForm = lazy(() => import("./WebhookForm.tsx").then((form) => ({ default: form.SettingsForm })));
const FORM_HEIGHT = 340;

export function SettingsPanel({ webhook }: { webhook: Webhook }) {
  return (
    <Panel title="Settings">
      <Stack>
        <EnabledSwitch webhook={webhook} />
        <Divider />
        <Suspense fallback={<Skeleton h={FORM_HEIGHT} />}>
          <SettingsForm webhook={webhook} />
        </Suspense>
      </Stack>
    </Panel>
  );
}

function EnabledSwitch({ webhook }: { webhook: Webhook }) {
  const change = useChangeWebhook(webhook.webhookId);
  const isOn = change.isPending ? (change.variables.enabled ?? webhook.enabled) : webhook.enabled;
  return (
    <Stack gap="xs">
      <Switch
        label="Enabled"
        description="Takes effect at once. Missed events can be recovered."
        checked={isOn}
        aria-busy={change.isPending}
        onChange={(event) => {
          if (!change.isPending) change.mutate({ enabled: event.currentTarget.checked });
        }}
      />
      {change.error !== null && <ErrorNotice title="Could not change this" error={change.error} />}
    </Stack>
  );
}

export function DeletePanel({ webhook }: { webhook: Webhook }) {
  const navigate = useNavigate();
  const [isOpen, { open, close }] = useDisclosure(false);
  const remove = useDeleteWebhook(webhook.webhookId, () => void navigate("/webhooks", { replace: true }));
  const keep = () => {
    remove.reset();
    close();
  };
  return (
    <Panel title="Delete">
      <Text size="sm" c="dimmed" mb="md">
        Also deletes its secrets and deliveries. To pause events, disable the endpoint instead.
      </Text>
      <Group>
        <Button variant="default" size="xs" leftSection={<IconTrash size={16} aria-hidden />} onClick={open}>
          Delete…
        </Button>
      </Group>
      <Modal opened={isOpen} onClose={keep} title="Delete endpoint?" centered>
        <Stack>
          <Text size="sm" style={{ overflowWrap: "anywhere" }}>
            {webhook.url} receives no more events, and its pending deliveries are dropped. This cannot be undone.
          </Text>
          {remove.error !== null && <ErrorNotice title="Could not delete the endpoint" error={remove.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={keep} data-autofocus>
              Cancel
            </Button>
            <BusyButton color="red.9" isBusy={remove.isPending} onClick={() => remove.mutate()}>
              Delete endpoint
            </BusyButton>
          </Group>
        </Stack>
      </Modal>
    </Panel>
  );
}
