import { Text } from "@mantine/core";
import type { Delivery } from "../../../client/index.ts";
import { Time } from "../ui/Time.tsx";
import { attemptWords } from "./attempt-words.ts";
import classes from "./deliveries.module.css";
import { deliveryState } from "./delivery-state.ts";
import { OutcomeIcon } from "./OutcomeIcon.tsx";

/** A delivery in one line, on a phone in two: how it stands, which event, what came back last, when. */
export function DeliveryLine({ delivery }: { delivery: Delivery }) {
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
