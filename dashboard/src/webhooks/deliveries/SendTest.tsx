import { Group, Loader, Stack, Text } from "@mantine/core";
import type { Delivery, Webhook } from "../../../../client/index.ts";
import { IconSend } from "../../ui/Icons.tsx";
import { OutcomeIcon } from "./OutcomeIcon.tsx";
import { Time } from "../../ui/Time.tsx";
import { useOnce } from "../../queries/use-once.ts";
import { isGone, useWatchDelivery } from "./delivery-queries.ts";
import { deliveryState } from "./delivery.ts";
import { AttemptList } from "./DeliveryItem.tsx";
import { BusyButton } from "../../ui/Buttons.tsx";
import { FormDialog, useDialog } from "../../ui/Dialogs.tsx";

export function SendTest({ webhook }: { webhook: Pick<Webhook, "webhookId" | "enabled"> }) {
  const test = useOnce<void, Delivery>((keyframe, _, once) => keyframe.webhooks.test(webhook.webhookId, once));
  const testing = useDialog();
  const send = () => {
    testing.open();
    test.mutate();
  };
  return (
    <>
      <BusyButton
        variant="default"
        leftSection={<IconSend size={16} />}
        isDisabled={!webhook.enabled}
        title={webhook.enabled ? undefined : "Enable the endpoint first"}
        onClick={send}
      >
        Send test
      </BusyButton>
      <FormDialog
        title="Test event"
        size="lg"
        submit="Send another"
        cancel="Done"
        failed="Could not send the test"
        {...testing.dialog}
        saving={test}
        onSubmit={send}
      >
        <div style={{ minHeight: 150 }}>
          {test.isPending && (
            <Group gap="sm" role="status">
              <Loader size="sm" aria-hidden />
              <Text size="sm">Sending a test event…</Text>
            </Group>
          )}
          {test.isSuccess && <WatchedDelivery key={test.data.deliveryId} made={test.data} />}
        </div>
      </FormDialog>
    </>
  );
}

function WatchedDelivery({ made }: { made: Delivery }) {
  const delivery = useWatchDelivery(made);
  const { kind } = deliveryState(delivery);
  return (
    <Stack gap="sm">
      <Group gap="sm" wrap="nowrap" role="status">
        {kind === "waiting" ? <Loader size="sm" aria-hidden /> : <OutcomeIcon kind={kind} size={20} />}
        <Text size="sm" fw={600}>
          {kind === "waiting" && "Waiting for your server's answer…"}
          {kind === "delivered" && "Delivered."}
          {kind === "exhausted" && "Failed after the last attempt."}
          {kind === "retrying" && "Not delivered."}
        </Text>
      </Group>
      <AttemptList attempts={delivery.attemptLog} />
      {kind === "retrying" && delivery.nextAttemptAt !== null && !isGone(delivery) && (
        <Text size="sm" c="dimmed">
          It is retried automatically; the next attempt is <Time iso={delivery.nextAttemptAt} />.
        </Text>
      )}
    </Stack>
  );
}
