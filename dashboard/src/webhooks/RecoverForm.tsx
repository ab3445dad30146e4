import { Alert, Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { Webhook } from "../../../client/index.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { fromLocalTime, toLocalTime } from "./local-time.ts";
import { useRecover } from "./use-recover.ts";

const A_DAY_MS = 86_400_000;

/** From when it began to go wrong, but a day at least: for one that was just enabled again, `failingSince` is that moment. */
const firstGuess = ({ failingSince, disabledAt }: Webhook): string => {
  const since = failingSince ?? disabledAt;
  const aDayAgo = Date.now() - A_DAY_MS;
  return toLocalTime(new Date(Math.min(aDayAgo, since === null ? aDayAgo : Date.parse(since))));
};

/** Asks since when, and says how many are sent again. */
export function RecoverForm({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const recover = useRecover(webhook.webhookId);
  const [local, setLocal] = useState(() => firstGuess(webhook));
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const since = fromLocalTime(local);
    setProblem(since === null ? "Enter a day and a time." : null);
    if (since !== null) recover.mutate(since);
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <Text size="sm">
          Sends again what failed since then, and what happened while the endpoint was disabled. What your server has
          already comes with the same <code>webhook-id</code>. Events are kept for 30 days.
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
        {recover.error !== null && <ErrorNotice title="Nothing was recovered" error={recover.error} />}
        {recover.data !== undefined && !recover.isPending && (
          <Alert color="gray" role="status">
            {recover.data === 0 && "Nothing failed or was missed since then."}
            {recover.data === 1 && "One delivery is sent again."}
            {recover.data > 1 && `${recover.data} deliveries are sent again.`}
          </Alert>
        )}
        {!webhook.enabled && <Text size="sm">The endpoint is disabled: they wait until you enable it.</Text>}
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
