import type { Webhook } from "../../../client/index.ts";
import { notify } from "../ui/notify.ts";
import { useChangeWebhook } from "./use-change-webhook.ts";
import WebhookForm from "./WebhookForm.tsx";
import { changesOf, toSettings } from "./webhook-settings.ts";

/** Where the endpoint is and what it gets, to be changed. */
export default function SettingsForm({ webhook }: { webhook: Webhook }) {
  const change = useChangeWebhook(webhook.webhookId);
  return (
    <WebhookForm
      endpoint={webhook}
      submit="Save"
      failed="The settings were not saved"
      isBusy={change.isPending}
      error={change.error}
      onSubmit={(settings) =>
        change.mutate(changesOf(toSettings(webhook), settings), { onSuccess: () => notify("The settings are saved.") })
      }
    />
  );
}
