import { Stack, Switch } from "@mantine/core";
import type { Webhook } from "../../../client/index.ts";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { useChangeWebhook } from "./use-change-webhook.ts";

/** Whether the endpoint gets events. Takes effect at once. */
export function EnabledSwitch({ webhook }: { webhook: Webhook }) {
  const change = useChangeWebhook(webhook.webhookId);
  const isOn = change.isPending ? (change.variables.enabled ?? webhook.enabled) : webhook.enabled;
  return (
    <Stack gap="xs">
      <Switch
        label="Enabled"
        description="Takes effect at once. What happens while it is off can be recovered."
        checked={isOn}
        aria-busy={change.isPending}
        onChange={(event) => {
          if (!change.isPending) change.mutate({ enabled: event.currentTarget.checked });
        }}
      />
      {change.error !== null && <ErrorNotice title="It was not switched" error={change.error} />}
    </Stack>
  );
}
