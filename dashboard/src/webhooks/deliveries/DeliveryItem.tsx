import { Accordion, Anchor, Code, Group, Stack, Text } from "@mantine/core";
import { Link } from "react-router";
import type { Delivery, Webhook } from "../../../../client/index.ts";
import { IconRepeat } from "../../ui/Icons.tsx";
import { OutcomeIcon } from "./OutcomeIcon.tsx";
import { Time } from "../../ui/Time.tsx";
import classes from "./deliveries.module.css";
import { useOnce } from "../../queries/use-once.ts";
import { useWatchDelivery } from "./delivery-queries.ts";
import { aboutWords, attemptWords, deliveryState, formatDuration } from "./delivery.ts";
import { SmallButton } from "../../ui/Buttons.tsx";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { Facts } from "../../ui/PageParts.tsx";
import { ErrorNotice, notify } from "../../ui/Notices.tsx";

type DeliveryItemProps = {
  webhook: Webhook;
  /** The delivery as the list has it. */
  given: Delivery;
  isOpen: boolean;
  /** The fresh list no longer contains the delivery: another filter, or an older page. */
  hasLeft: boolean;
};

/** An open item shows the current state: the list may be frozen, or may no longer contain it. */
export function DeliveryItem({ webhook, given, isOpen, hasLeft }: DeliveryItemProps) {
  const delivery = useWatchDelivery(given, isOpen);
  return (
    <Accordion.Item value={delivery.deliveryId}>
      <Accordion.Control>
        <DeliveryLine delivery={delivery} />
      </Accordion.Control>
      <Accordion.Panel>
        {isOpen && <DeliveryDetails webhook={webhook} delivery={delivery} hasLeft={hasLeft} />}
      </Accordion.Panel>
    </Accordion.Item>
  );
}

function DeliveryLine({ delivery }: { delivery: Delivery }) {
  const { kind, label } = deliveryState(delivery);
  const { eventType, lastStatusCode, lastError, attempts, createdAt } = delivery;
  const { short } = attemptWords({ statusCode: lastStatusCode, error: lastError });
  return (
    <span className={classes.row}>
      <Group component="span" gap={6} wrap="nowrap">
        <OutcomeIcon kind={kind} />
        <Text span size="sm" fw={600}>
          {label}
        </Text>
      </Group>
      <span className={classes.wide}>
        <Text span size="sm" display="block">
          {eventType}
        </Text>
        <Text span size="sm" c="dimmed" display="block" truncate>
          {aboutWords(delivery)}
        </Text>
      </span>
      <Text span size="sm" c="dimmed" className={classes.wide} style={{ overflowWrap: "anywhere" }}>
        {attempts === 0 ? "Not sent yet" : short}
        {attempts > 1 && `, ${attempts} attempts`}
      </Text>
      <Text span size="sm" c="dimmed" ta="end">
        <Time iso={createdAt} />
      </Text>
    </span>
  );
}

type DeliveryDetailsProps = Pick<DeliveryItemProps, "webhook" | "hasLeft"> & { delivery: Delivery };

/** The button comes first, so that new attempts do not move it. */
function DeliveryDetails({ webhook, delivery, hasLeft }: DeliveryDetailsProps) {
  const redeliver = useOnce((keyframe, id: string, once) => keyframe.webhooks.redeliver(id, once));
  const { deliveryId, eventId, projectId, projectTitle, predictionId, createdAt, nextAttemptAt, attemptLog, body } =
    delivery;
  const send = () =>
    redeliver.mutate(deliveryId, {
      onSuccess: () =>
        notify(
          webhook.enabled ? "Sending again. The answer appears here." : "It will be sent when the endpoint is enabled.",
        ),
    });
  const project = (
    <Anchor inherit underline="always" component={Link} to={`/projects/${projectId}`}>
      {projectTitle}
    </Anchor>
  );
  return (
    <Stack gap="md">
      <Group>
        <SmallButton
          isBusy={redeliver.isPending}
          aria-label={`Send again: ${delivery.eventType}`}
          Icon={IconRepeat}
          onClick={send}
        >
          Send again
        </SmallButton>
      </Group>
      <ErrorNotice title="Could not send again" error={redeliver.error} />
      <Facts
        facts={{
          "webhook-id": <code>{eventId}</code>,
          Project: projectId && (projectTitle === null ? "deleted" : project),
          Prediction: predictionId && <code>{predictionId}</code>,
          Created: <Time iso={createdAt} />,
          "Next attempt":
            nextAttemptAt === null ? "none" : webhook.enabled ? <Time iso={nextAttemptAt} /> : WHEN_ENABLED,
        }}
      />
      <AttemptList attempts={attemptLog} />
      <Stack gap={6}>
        <Group justify="space-between">
          <Text size="sm" fw={600}>
            Body
          </Text>
          <CopyButton text={body} label="Copy body" size="xs" />
        </Group>
        <Code block>{body}</Code>
        <Text size="xs" c="dimmed">
          The body as signed and sent in every attempt.
        </Text>
      </Stack>
      {hasLeft && (
        <Text size="sm" c="dimmed">
          Deleted, or no longer in this list.
        </Text>
      )}
    </Stack>
  );
}

const WHEN_ENABLED = "when the endpoint is enabled";

/** The response is shown as plain text. */
export const AttemptList = ({ attempts }: { attempts: Delivery["attemptLog"] }) => (
  <Stack component="ol" gap="sm" className="plain-list" aria-label="Attempts">
    {attempts.map(({ attempt, startedAt, durationMs, statusCode, error, responseExcerpt, requestHeaders }) => {
      const { short, hint } = attemptWords({ statusCode, error });
      return (
        <Stack component="li" key={attempt} gap={6}>
          <Group gap={8}>
            <OutcomeIcon kind={error === null ? "delivered" : "exhausted"} />
            <Text span size="sm" fw={600}>
              {short}
            </Text>
            <Text span size="sm" c="dimmed">
              attempt {attempt}, after {formatDuration(durationMs)}, <Time iso={startedAt} />
            </Text>
          </Group>
          {hint !== null && <Text size="sm">{hint}</Text>}
          {responseExcerpt !== null && responseExcerpt !== "" && <Code block>{responseExcerpt}</Code>}
          <details>
            <Text component="summary" size="sm" w="fit-content" style={{ cursor: "pointer" }}>
              Request headers
            </Text>
            <Code block>
              {Object.entries(requestHeaders).map(([name, value]) => `${name}: ${value}\n`)}
              webhook-signature: not stored
            </Code>
            <Text size="xs" c="dimmed">
              Anyone who reads a signature could send the request again for five minutes, so it is not stored.
            </Text>
          </details>
        </Stack>
      );
    })}
  </Stack>
);
