import { Group, Stack, Text } from "@mantine/core";
import { IconRepeat } from "@tabler/icons-react";
import type { Delivery, Webhook } from "../../../client/index.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { notify } from "../ui/notify.ts";
import { Time } from "../ui/Time.tsx";
import { AttemptList } from "./AttemptList.tsx";
import classes from "./deliveries.module.css";
import { useRedeliver } from "./use-redeliver.ts";

type Props = {
  webhook: Webhook;
  delivery: Delivery;
  /** It is not read any more: another filter would show it, or an older page. */
  hasLeft: boolean;
};

/** All of a delivery. The button stands first: attempts are added while one looks, and must not move it away. */
export function DeliveryDetails({ webhook, delivery, hasLeft }: Props) {
  const redeliver = useRedeliver(webhook.webhookId);
  const { deliveryId, eventId, createdAt, nextAttemptAt, attemptLog } = delivery;
  const send = () =>
    redeliver.mutate(deliveryId, {
      onSuccess: () =>
        notify(
          webhook.enabled ? "It is sent again. Its answer appears here." : "It is sent when the endpoint is enabled.",
        ),
    });
  return (
    <Stack gap="md">
      <Group>
        <BusyButton
          size="xs"
          variant="default"
          isBusy={redeliver.isPending}
          leftSection={<IconRepeat size={16} aria-hidden />}
          onClick={send}
        >
          Send again
        </BusyButton>
      </Group>
      {redeliver.error !== null && <ErrorNotice title="It was not sent again" error={redeliver.error} />}
      <dl className={classes.facts}>
        <dt>webhook-id</dt>
        <dd>
          <code>{eventId}</code>
        </dd>
        <dt>Happened</dt>
        <dd>
          <Time iso={createdAt} />
        </dd>
        <dt>Next attempt</dt>
        <dd>
          {nextAttemptAt === null ? "none" : webhook.enabled ? <Time iso={nextAttemptAt} /> : "once it is enabled"}
        </dd>
      </dl>
      <AttemptList attempts={attemptLog} />
      {hasLeft && (
        <Text size="sm" c="dimmed">
          This is how it was last seen; by now it has left this part of the list.
        </Text>
      )}
    </Stack>
  );
}
