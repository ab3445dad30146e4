import { Alert, Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { Webhook } from "../../../../client/index.ts";
import { BusyButton } from "../../ui/BusyButton.tsx";
import { ErrorNotice } from "../../ui/messages.tsx";
import { useRecover } from "./delivery-queries.ts";
import { fromLocalTime, toLocalTime } from "./delivery.ts";

type Props = { webhook: Webhook; isOpen: boolean; onClose: () => void };

export function RecoverWindow({ webhook, isOpen, onClose }: Props) {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Recover deliveries">
      <RecoverForm webhook={webhook} onClose={onClose} />
    </Modal>
  );
}

const A_DAY_MS = 86_400_000;

/** Since the failures began, at least a day: `failingSince` restarts when an endpoint is enabled again. */
const firstGuess = ({ failingSince, disabledAt }: Webhook): string => {
  const since = failingSince ?? disabledAt;
  const aDayAgo = Date.now() - A_DAY_MS;
  return toLocalTime(new Date(Math.min(aDayAgo, since === null ? aDayAgo : Date.parse(since))));
};

function RecoverForm({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const recover = useRecover(webhook.webhookId);
  const [local, setLocal] = useState(() => firstGuess(webhook));
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const since = fromLocalTime(local);
    setProblem(since === null ? "Enter a date and time." : null);
    if (since !== null) recover.mutate(since);
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
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
          error={problem}
          data-autofocus
          onChange={(event) => setLocal(event.currentTarget.value)}
        />
        {recover.error !== null && <ErrorNotice title="Could not recover" error={recover.error} />}
        {recover.data !== undefined && !recover.isPending && (
          <Alert color="gray" role="status">
            {recover.data === 0 && "Nothing to recover since then."}
            {recover.data === 1 && "Sending 1 delivery again."}
            {recover.data > 1 && `Sending ${recover.data} deliveries again.`}
          </Alert>
        )}
        {!webhook.enabled && <Text size="sm">The endpoint is disabled: deliveries wait until you enable it.</Text>}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {recover.data === undefined ? "Cancel" : "Close"}
          </Button>
          <BusyButton type="submit" isBusy={recover.isPending}>
            Recover
          </BusyButton>
        </Group>
      </Stack>
    </form>
  );
}
