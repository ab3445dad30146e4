import {
  Accordion,
  Alert,
  Button,
  Group,
  NativeSelect,
  SegmentedControl,
  Stack,
  Text,
  TextInput,
  VisuallyHidden,
} from "@mantine/core";
import { useMemo, useRef, useState } from "react";
import type { Webhook } from "../../../../client/index.ts";
import { IconHistory, IconInbox } from "../../ui/icons.tsx";
import { LoadMore, EmptyState, Panel, Unread } from "../../ui/page-parts.tsx";
import { FormWindow, useWindow, type WindowProps } from "../../ui/windows.tsx";
import { EVENT_CHOICES } from "../webhook-settings.ts";
import classes from "./deliveries.module.css";
import { useOnce } from "../../services.ts";
import { type DeliveryFilter, useDeliveries } from "./delivery-queries.ts";
import { fromLocalTime, recoverySince, toLocalTime } from "./delivery.ts";
import { DeliveryItem } from "./DeliveryItem.tsx";
import { useFrozenList } from "./use-frozen-list.ts";
import { SmallButton } from "../../ui/buttons.tsx";
import { movesFocus } from "../../ui/window-focus.ts";

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
    "Deliveries whose every attempt failed appear here. You can send them again.",
  ],
};

const EVENTS = [{ value: "", label: "All events" }, ...[...EVENT_CHOICES, "webhook.test"]];

export function DeliveriesPanel({ webhook }: { webhook: Webhook }) {
  const [filter, setFilter] = useState<DeliveryFilter>({});
  const [open, setOpen] = useState<string[]>([]);
  const list = useRef<HTMLDivElement>(null);
  const recovery = useWindow();
  const deliveries = useDeliveries(webhook.webhookId, filter);
  const { data } = deliveries;
  const read = useMemo(() => data?.pages.flatMap((page) => page.deliveries), [data]);
  const { rows: shown, newer, showNewer } = useFrozenList(read, open.length > 0);
  const show = (other: DeliveryFilter) => {
    setFilter(other);
    setOpen([]); // another list
  };
  return (
    <Panel
      title="Deliveries"
      actions={
        <Group gap="xs" wrap="nowrap">
          <VisuallyHidden role="status">
            {newer > 0 && (newer === 1 ? "A new delivery" : `${newer} new deliveries`)}
          </VisuallyHidden>
          {newer > 0 && (
            // For the frozen list. Short, to fit beside a heading on a phone.
            <Button
              ref={movesFocus(() => list.current?.querySelector("button")?.focus())}
              size="xs"
              variant="light"
              aria-label={`Show ${newer} new`}
              px="xs"
              onClick={() => {
                showNewer();
                setOpen(open.filter((id) => read?.some(({ deliveryId }) => deliveryId === id)));
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
        <Group gap="xs">
          <SegmentedControl
            aria-label="Filter by status"
            size="xs"
            flex="1 1 260px"
            data={Object.entries(STATUSES).map(([value, [label]]) => ({ value, label }))}
            value={filter.status ?? "all"}
            onChange={
              (value) => show({ ...filter, status: value === "all" ? undefined : (value as DeliveryFilter["status"]) }) // one of STATUSES
            }
          />
          <NativeSelect
            aria-label="Filter by event"
            size="xs"
            flex="1 0 180px"
            data={EVENTS}
            value={filter.eventType ?? ""}
            onChange={
              ({ currentTarget: { value } }) =>
                show({ ...filter, eventType: (value || undefined) as DeliveryFilter["eventType"] }) // one of EVENTS
            }
          />
        </Group>
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
            aria-busy={deliveries.isPlaceholderData} // of the previous filter
            classNames={classes}
          >
            {shown.map((delivery) => (
              <DeliveryItem
                key={delivery.deliveryId}
                webhook={webhook}
                given={delivery}
                isOpen={open.includes(delivery.deliveryId)}
                hasLeft={read?.includes(delivery) === false}
              />
            ))}
          </Accordion>
        )}
        <LoadMore of={deliveries} />
      </Stack>
      <RecoverWindow webhook={webhook} {...recovery.window} />
    </Panel>
  );
}

function NoDeliveries({ status, eventType }: DeliveryFilter) {
  const [, title, text] = STATUSES[status ?? "all"];
  const ofType = eventType && `Only deliveries of ${eventType} are shown.`;
  return <EmptyState Icon={IconInbox} title={title} text={ofType ?? text} />;
}

function RecoverWindow({ webhook, isOpen, onClose }: WindowProps & { webhook: Webhook }) {
  const recover = useOnce(
    async (keyframe, from: string, once) =>
      (await keyframe.webhooks.recover(webhook.webhookId, { since: from }, once)).recovered,
  );
  const [typed, setTyped] = useState<string | null>(null);
  const local = typed ?? toLocalTime(recoverySince(webhook, Date.now()));
  const since = fromLocalTime(local);
  const close = () => {
    setTyped(null);
    onClose();
  };
  return (
    <FormWindow
      title="Recover deliveries"
      submit="Recover"
      cancel={recover.data === undefined ? "Cancel" : "Close"}
      failed="Could not recover"
      isOpen={isOpen}
      onClose={close}
      saving={recover}
      canSubmit={since !== null}
      onSubmit={() => since !== null && recover.mutate(since)}
    >
      <Text size="sm">
        Sends failed deliveries again, and events missed while the endpoint was disabled. Repeated events keep their{" "}
        <code>webhook-id</code>. Events that were removed because of their age cannot be sent again.
      </Text>
      <TextInput
        label="Since"
        description="In your time zone"
        type="datetime-local"
        max={toLocalTime(new Date())}
        value={local}
        error={since === null ? "Enter a date and time." : null}
        data-autofocus
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      {recover.data !== undefined && !recover.isPending && (
        <Alert color="gray" role="status">
          {recover.data === 0 && "Nothing to recover since then."}
          {recover.data === 1 && "Sending 1 delivery again."}
          {recover.data > 1 && `Sending ${recover.data} deliveries again.`}
        </Alert>
      )}
      {!webhook.enabled && <Text size="sm">The endpoint is disabled: deliveries wait until you enable it.</Text>}
    </FormWindow>
  );
}
