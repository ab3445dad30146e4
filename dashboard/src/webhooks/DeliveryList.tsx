import { Accordion } from "@mantine/core";
import { useState } from "react";
import type { Delivery, Webhook } from "../../../client/index.ts";
import { DeliveryDetails } from "./DeliveryDetails.tsx";
import { DeliveryLine } from "./DeliveryLine.tsx";
import classes from "./deliveries.module.css";

type Props = {
  webhook: Webhook;
  deliveries: Delivery[];
  /** Others are being read: these are of another filter. */
  isStale: boolean;
};

/** Deliveries, each of which opens to its attempts. */
export function DeliveryList({ webhook, deliveries, isStale }: Props) {
  const [open, setOpen] = useState<string[]>([]);
  return (
    <Accordion
      multiple
      value={open}
      onChange={setOpen}
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
            {open.includes(delivery.deliveryId) && <DeliveryDetails webhook={webhook} delivery={delivery} />}
          </Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  );
}
