import { Accordion, Group, Stack, Text } from "@mantine/core";
import { IconRepeat } from "@tabler/icons-react";
import type { Ref } from "react";
import type { Delivery, Webhook } from "../../../../client/index.ts";
import { OutcomeIcon } from "../EndpointState.tsx";
import { BusyButton } from "../../ui/BusyButton.tsx";
import { ErrorNotice, notify } from "../../ui/messages.tsx";
import { Time } from "../../ui/Time.tsx";
import classes from "./deliveries.module.css";
import { useRedeliver } from "./delivery-queries.ts";
import { attemptWords, deliveryState, formatDuration } from "./delivery.ts";

type Props = {
  ref: Ref<HTMLDivElement>;
  webhook: Webhook;
  deliveries: Delivery[];
  /** Ids of the expanded rows. */
  open: string[];
  onOpen: (open: string[]) => void;
  /** Whether a fresh read no longer contains it. */
  hasLeft: (delivery: Delivery) => boolean;
  /** The rows are of the previous filter. */
  isStale: boolean;
};

export function DeliveryList({ ref, webhook, deliveries, open, onOpen, hasLeft, isStale }: Props) {
  return (
    <Accordion
      ref={ref}
      multiple
      value={open}
      onChange={onOpen}
      order={3}
      chevronPosition="left"
      chevronSize={18}
      aria-busy={isStale}
      classNames={{
        control: classes.control,
        chevron: classes.chevron,
        label: classes.label,
        content: classes.content,
      }}
    >
      {deliveries.map((delivery) => (
        <Accordion.Item key={delivery.deliveryId} value={delivery.deliveryId}>
          <Accordion.Control>
            <DeliveryLine delivery={delivery} />
          </Accordion.Control>
          <Accordion.Panel>
            {open.includes(delivery.deliveryId) && (
              <DeliveryDetails webhook={webhook} delivery={delivery} hasLeft={hasLeft(delivery)} />
            )}
          </Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  );
}

function DeliveryLine({ delivery }: { delivery: Delivery }) {
  const { kind, label } = deliveryState(delivery);
  const { eventType, lastStatusCode, lastError, attempts, createdAt } = delivery;
  const { short } = attemptWords({ statusCode: lastStatusCode, error: lastError });
  return (
    <span className={classes.row}>
      <span className={classes.state}>
        <OutcomeIcon kind={kind} />
        <Text span size="sm" fw={600}>
          {label}
        </Text>
      </span>
      <Text span size="sm" className={classes.event}>
        {eventType}
      </Text>
      <Text span size="sm" c="dimmed" className={classes.answer}>
        {attempts === 0 ? "Not sent yet" : short}
        {attempts > 1 && `, ${attempts} attempts`}
      </Text>
      <Text span size="sm" c="dimmed" className={classes.when}>
        <Time iso={createdAt} />
      </Text>
    </span>
  );
}

type DeliveryDetailsProps = {
  webhook: Webhook;
  delivery: Delivery;
  /** A fresh read no longer contains it: other filter or older page. */
  hasLeft: boolean;
};

/** The button comes first, so that new attempts do not move it. */
function DeliveryDetails({ webhook, delivery, hasLeft }: DeliveryDetailsProps) {
  const redeliver = useRedeliver(webhook.webhookId);
  const { deliveryId, eventId, createdAt, nextAttemptAt, attemptLog } = delivery;
  const send = () =>
    redeliver.mutate(deliveryId, {
      onSuccess: () =>
        notify(
          webhook.enabled ? "Sending again. The answer appears here." : "It will be sent when the endpoint is enabled.",
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
      {redeliver.error !== null && <ErrorNotice title="Could not send again" error={redeliver.error} />}
      <dl className={classes.facts}>
        <dt>webhook-id</dt>
        <dd>
          <code>{eventId}</code>
        </dd>
        <dt>Created</dt>
        <dd>
          <Time iso={createdAt} />
        </dd>
        <dt>Next attempt</dt>
        <dd>
          {nextAttemptAt === null ? (
            "none"
          ) : webhook.enabled ? (
            <Time iso={nextAttemptAt} />
          ) : (
            "when the endpoint is enabled"
          )}
        </dd>
      </dl>
      <AttemptList attempts={attemptLog} />
      {hasLeft && (
        <Text size="sm" c="dimmed">
          No longer in this list: shown as last seen.
        </Text>
      )}
    </Stack>
  );
}

/** The response is shown as plain text. */
export function AttemptList({ attempts }: { attempts: Delivery["attemptLog"] }) {
  return (
    <ol className={classes.attempts} aria-label="Attempts">
      {attempts.map(({ attempt, startedAt, durationMs, statusCode, error, responseExcerpt }) => {
        const { short, hint } = attemptWords({ statusCode, error });
        return (
          <li key={attempt} className={classes.attempt}>
            <div className={classes.attemptLine}>
              <OutcomeIcon kind={error === null ? "delivered" : "exhausted"} />
              <Text span size="sm" fw={600}>
                {short}
              </Text>
              <Text span size="sm" c="dimmed">
                attempt {attempt}, after {formatDuration(durationMs)}, <Time iso={startedAt} />
              </Text>
            </div>
            {hint !== null && <Text size="sm">{hint}</Text>}
            {responseExcerpt !== null && responseExcerpt !== "" && (
              <pre className={classes.excerpt}>{responseExcerpt}</pre>
            )}
          </li>
        );
      })}
    </ol>
  );
}
