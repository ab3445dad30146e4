import { Accordion } from "@mantine/core";
import type { Ref } from "react";
import type { Delivery, Webhook } from "../../../client/index.ts";
import { DeliveryDetails } from "./DeliveryDetails.tsx";
import { DeliveryLine } from "./DeliveryLine.tsx";
import classes from "./deliveries.module.css";

type Props = {
  ref: Ref<HTMLDivElement>;
  webhook: Webhook;
  deliveries: Delivery[];
  /** The ids of those that are open. */
  open: string[];
  onOpen: (open: string[]) => void;
  /** Whether it is shown only because somebody reads in the list. */
  hasLeft: (delivery: Delivery) => boolean;
  /** Others are being read: these are of another filter. */
  isStale: boolean;
};

/** Deliveries, each of which opens to its attempts. */
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
