import { Alert, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Webhook } from "../../../../client/index.ts";
import { FormWindow } from "../../ui/windows.tsx";
import { useRecover } from "./delivery-queries.ts";
import { fromLocalTime, toLocalTime } from "./delivery.ts";

type Props = { webhook: Webhook; isOpen: boolean; onClose: () => void };

const A_DAY_MS = 86_400_000;

/** Since the failures began, at least a day: `failingSince` restarts when an endpoint is enabled again. */
const firstGuess = ({ failingSince, disabledAt }: Webhook): string => {
  const since = failingSince ?? disabledAt;
  const aDayAgo = Date.now() - A_DAY_MS;
  return toLocalTime(new Date(Math.min(aDayAgo, since === null ? aDayAgo : Date.parse(since))));
};

export function RecoverWindow({ webhook, isOpen, onClose }: Props) {
  const recover = useRecover(webhook.webhookId);
  const [typed, setTyped] = useState<string | null>(null);
  const local = typed ?? firstGuess(webhook);
  const since = fromLocalTime(local);
  const close = () => {
    setTyped(null);
    onClose();
  };
  return (
    <FormWindow
      title="Recover deliveries"
      submit="Recover"
      cancel={recover.data === undefined ? "Cancel" : "Close"}
      failed="Could not recover"
      isOpen={isOpen}
      onClose={close}
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
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      {recover.data !== undefined && !recover.isPending && (
        <Alert color="gray" role="status">
          {recover.data === 0 && "Nothing to recover since then."}
          {recover.data === 1 && "Sending 1 delivery again."}
          {recover.data > 1 && `Sending ${recover.data} deliveries again.`}
        </Alert>
      )}
      {!webhook.enabled && <Text size="sm">The endpoint is disabled: deliveries wait until you enable it.</Text>}
    </FormWindow>
  );
}
