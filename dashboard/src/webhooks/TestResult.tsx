import { Button, Group, Loader, Stack, Text } from "@mantine/core";
import type { Delivery } from "../../../client/index.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { WatchedDelivery } from "./WatchedDelivery.tsx";

type Props = {
  sent: Delivery | undefined;
  error: unknown;
  isSending: boolean;
  onSend: () => void;
  onClose: () => void;
};

/** What becomes of a test event, from asking for it to the answer. */
export function TestResult({ sent, error, isSending, onSend, onClose }: Props) {
  return (
    <Stack>
      <div style={{ minHeight: 150 }}>
        {isSending && (
          <Group gap="sm" role="status">
            <Loader size="sm" aria-hidden />
            <Text size="sm">Sending a test event…</Text>
          </Group>
        )}
        {!isSending && error !== null && <ErrorNotice title="No test was sent" error={error} />}
        {!isSending && sent !== undefined && <WatchedDelivery key={sent.deliveryId} made={sent} />}
      </div>
      <Group justify="flex-end">
        <BusyButton variant="default" isBusy={isSending} onClick={onSend}>
          Send another
        </BusyButton>
        <Button onClick={onClose} data-autofocus>
          Done
        </Button>
      </Group>
    </Stack>
  );
}
