import { Accordion, Button, Group, NativeSelect, SegmentedControl, Stack, VisuallyHidden } from "@mantine/core";
import { useRef, useState } from "react";
import type { Webhook } from "../../../../client/index.ts";
import { SmallButton } from "../../ui/Buttons.tsx";
import { IconHistory, IconInbox } from "../../ui/Icons.tsx";
import { EmptyState, LoadMore, Panel, Unread } from "../../ui/PageParts.tsx";
import { movesFocus } from "../../ui/dialog-focus.ts";
import { useDialog } from "../../ui/Dialogs.tsx";
import { EVENT_CHOICES } from "../webhook-settings.ts";
import classes from "./deliveries.module.css";
import { type DeliveryFilter, useDeliveries } from "./delivery-queries.ts";
import { DeliveryItem } from "./DeliveryItem.tsx";
import { RecoverDialog } from "./RecoverDialog.tsx";
import { useFrozenList } from "./use-frozen-list.ts";

type StatusChoice = NonNullable<DeliveryFilter["status"]> | "all";

/** The filters by status, with what an empty list says. */
const STATUSES: Record<StatusChoice, [label: string, title: string, text: string]> = {
  all: ["All", "No deliveries yet", "Send a test or save a project: the event appears here with your server's answer."],
  pending: ["Pending", "No pending deliveries", "Deliveries that wait to be sent or retried appear here."],
  delivered: [
    "Delivered",
    "No successful deliveries yet",
    "Deliveries that your server answered with 200 to 299 appear here.",
  ],
  exhausted: [
    "Failed",
    "No failed deliveries",
    "Deliveries that failed at every attempt appear here. You can send them again.",
  ],
};

const EVENTS = [{ value: "", label: "All events" }, ...EVENT_CHOICES, "webhook.test"];

export function DeliveriesPanel({ webhook }: { webhook: Webhook }) {
  const [filter, setFilter] = useState<DeliveryFilter>({});
  const [open, setOpen] = useState<string[]>([]);
  const list = useRef<HTMLDivElement>(null);
  const recovery = useDialog();
  const deliveries = useDeliveries(webhook.webhookId, filter);
  const { rows: shown, newer, showNewer } = useFrozenList(deliveries.data, open.length > 0);
  return (
    <Panel
      title="Deliveries"
      actions={
        <Group gap="xs" wrap="nowrap">
          <VisuallyHidden role="status">
            {newer > 0 && (newer === 1 ? "A new delivery" : `${newer} new deliveries`)}
          </VisuallyHidden>
          {newer > 0 && (
            // The label is short, to fit beside a heading on a phone.
            <Button
              ref={movesFocus(() => list.current?.querySelector("button")?.focus())}
              size="xs"
              variant="light"
              aria-label={`Show ${newer} new`}
              px="xs"
              onClick={() => {
                showNewer();
                setOpen(open.filter((id) => deliveries.data?.some(({ deliveryId }) => deliveryId === id)));
              }}
            >
              {newer} new
            </Button>
          )}
          <SmallButton
            classNames={{ section: classes.roomy }}
            Icon={IconHistory}
            aria-label="Recover deliveries…"
            onClick={recovery.open}
          >
            Recover…
          </SmallButton>
        </Group>
      }
    >
      <Stack>
        <Filters
          filter={filter}
          onChange={(changed) => {
            setFilter({ ...filter, ...changed });
            setOpen([]); // the filter brings another list
          }}
        />
        <Unread query={deliveries} what="deliveries" heights={[52, 52, 52, 52, 52]} />
        {shown?.length === 0 && !deliveries.isPlaceholderData && <NoDeliveries {...filter} />}
        {shown !== undefined && shown.length > 0 && (
          <Accordion
            ref={list}
            multiple
            value={open}
            onChange={setOpen}
            order={3}
            chevronPosition="left"
            chevronSize={18}
            aria-busy={deliveries.isPlaceholderData} // the rows of the previous filter
            classNames={classes}
          >
            {shown.map((delivery) => (
              <DeliveryItem
                key={delivery.deliveryId}
                webhook={webhook}
                given={delivery}
                isOpen={open.includes(delivery.deliveryId)}
                hasLeft={deliveries.data?.includes(delivery) === false}
              />
            ))}
          </Accordion>
        )}
        <LoadMore query={deliveries} />
      </Stack>
      <RecoverDialog webhook={webhook} {...recovery.dialog} />
    </Panel>
  );
}

type FiltersProps = { filter: DeliveryFilter; onChange: (changed: DeliveryFilter) => void };

function Filters({ filter, onChange }: FiltersProps) {
  const choices = Object.entries(STATUSES).map(([value, [label]]) => ({ value, label }));
  const statusOf = (value: string) => (value === "all" ? undefined : (value as DeliveryFilter["status"])); // one of STATUSES
  const typeOf = (value: string) => (value || undefined) as DeliveryFilter["eventType"]; // one of EVENTS
  return (
    <Group gap="xs">
      <SegmentedControl
        aria-label="Filter by status"
        size="xs"
        flex="1 1 260px"
        data={choices}
        value={filter.status ?? "all"}
        onChange={(value) => onChange({ status: statusOf(value) })}
      />
      <NativeSelect
        aria-label="Filter by event"
        size="xs"
        flex="1 0 180px"
        data={EVENTS}
        value={filter.eventType ?? ""}
        onChange={({ currentTarget: { value } }) => onChange({ eventType: typeOf(value) })}
      />
    </Group>
  );
}

function NoDeliveries({ status, eventType }: DeliveryFilter) {
  const [, title, text] = STATUSES[status ?? "all"];
  const ofType = eventType && `Only deliveries of ${eventType} are shown.`;
  return <EmptyState Icon={IconInbox} title={title} text={ofType ?? text} />;
}
