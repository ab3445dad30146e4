import { Button, Divider, Group, Skeleton, Stack, Switch, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconTrash } from "@tabler/icons-react";
import { lazy, Suspense } from "react";
import { useNavigate } from "react-router";
import type { Webhook } from "../../../client/index.ts";
import { ErrorNotice } from "../ui/messages.tsx";
import { Panel } from "../ui/page-parts.tsx";
import { DeleteWindow } from "../ui/windows.tsx";
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
      <DeleteWindow noun="endpoint" isOpen={isOpen} onClose={close} removal={remove} onDelete={() => remove.mutate()}>
        {webhook.url} receives no more events, and its pending deliveries are dropped. This cannot be undone.
      </DeleteWindow>
    </Panel>
  );
}
