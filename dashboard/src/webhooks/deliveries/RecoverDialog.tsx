import { Alert, Text, TextInput } from "@mantine/core";
import type { Webhook } from "../../../../client/index.ts";
import { useOnce } from "../../queries/use-once.ts";
import { type DialogProps, FormDialog, useTyped } from "../../ui/Dialogs.tsx";
import { fromLocalTime, recoverySince, toLocalTime } from "./delivery.ts";

export function RecoverDialog({ webhook, ...opened }: DialogProps & { webhook: Webhook }) {
  const recover = useOnce(
    async (keyframe, from: string, once) =>
      (await keyframe.webhooks.recover(webhook.webhookId, { since: from }, once)).recovered,
  );
  const [{ typed }, set, dialog] = useTyped<{ typed?: string }>({}, opened);
  const local = typed ?? toLocalTime(recoverySince(webhook, Date.now()));
  const since = fromLocalTime(local);
  return (
    <FormDialog
      title="Recover deliveries"
      submit="Recover"
      cancel={recover.data === undefined ? "Cancel" : "Close"}
      failed="Could not recover"
      {...dialog}
      saving={recover}
      canSubmit={since !== null}
      onSubmit={() => since !== null && recover.mutate(since)}
    >
      <Text size="sm">
        Sends failed deliveries again, and events missed while the endpoint was disabled. Repeated events keep their{" "}
        <code>webhook-id</code>. Events that were removed because of their age cannot be sent again.
      </Text>
      <TextInput
        label="Since"
        description="In your time zone"
        type="datetime-local"
        max={toLocalTime(new Date())}
        value={local}
        error={since === null ? "Enter a date and time." : null}
        data-autofocus
        onChange={({ currentTarget }) => set({ typed: currentTarget.value })}
      />
      {recover.data !== undefined && !recover.isPending && (
        <Alert color="gray" role="status">
          {recover.data === 0 && "Nothing to recover since then."}
          {recover.data === 1 && "Sending 1 delivery again."}
          {recover.data > 1 && `Sending ${recover.data} deliveries again.`}
        </Alert>
      )}
      {!webhook.enabled && <Text size="sm">The endpoint is disabled: deliveries wait until you enable it.</Text>}
    </FormDialog>
  );
}
