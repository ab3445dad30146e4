import { Button, Center, Group, SegmentedControl, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconHistory } from "@tabler/icons-react";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Webhook } from "../../../client/index.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import classes from "./deliveries.module.css";
import { DeliveryList } from "./DeliveryList.tsx";
import { DeliverySkeletons } from "./DeliverySkeletons.tsx";
import { isSoon } from "./is-soon.ts";
import { NewerDeliveries } from "./NewerDeliveries.tsx";
import { NoDeliveries } from "./NoDeliveries.tsx";
import { Panel } from "./Panel.tsx";
import { RecoverWindow } from "./RecoverWindow.tsx";
import { useDeliveries } from "./use-deliveries.ts";
import { useHeldList } from "./use-held-list.ts";
import type { DeliveryStatus } from "./webhook-keys.ts";

const FILTERS: { value: DeliveryStatus | "all"; label: string }[] = [
  { value: "all", label: "All" },
  { value: "pending", label: "Pending" },
  { value: "delivered", label: "Delivered" },
  { value: "exhausted", label: "Given up" },
];

type Props = {
  webhook: Webhook;
  /** Told whether something is being sent just now. */
  onActive: (isActive: boolean) => void;
};

/** What was sent and is to be sent, newest first, and the way to send it again. */
export function DeliveriesPanel({ webhook, onActive }: Props) {
  const [filter, setFilter] = useState<DeliveryStatus | "all">("all");
  const [open, setOpen] = useState<string[]>([]);
  const list = useRef<HTMLDivElement>(null);
  const [isRecovering, recovery] = useDisclosure(false);
  const deliveries = useDeliveries(webhook, filter === "all" ? null : filter);
  const { data, error, isFetchNextPageError } = deliveries;
  const read = useMemo(() => data?.pages.flatMap((page) => page.deliveries), [data]);
  const { rows: shown, newer, showNewer } = useHeldList(read, open.length > 0);
  const isActive = webhook.enabled && (read?.some((delivery) => isSoon(delivery, Date.now())) ?? false);
  useEffect(() => onActive(isActive), [isActive, onActive]);
  return (
    <Panel
      title="Deliveries"
      actions={
        <Group gap="xs" wrap="nowrap">
          <NewerDeliveries
            count={newer}
            onShow={() => {
              showNewer();
              setOpen(open.filter((id) => read?.some(({ deliveryId }) => deliveryId === id)));
            }}
            onGoneWithFocus={() => list.current?.querySelector("button")?.focus()}
          />
          <Button
            variant="default"
            size="xs"
            classNames={{ section: classes.roomy }}
            leftSection={<IconHistory size={16} aria-hidden />}
            onClick={recovery.open}
          >
            Recover…
          </Button>
        </Group>
      }
    >
      <Stack>
        <SegmentedControl
          aria-label="Which deliveries"
          size="xs"
          fullWidth
          data={FILTERS}
          value={filter}
          onChange={(value) => {
            setFilter(value as DeliveryStatus | "all"); // one of FILTERS
            setOpen([]); // another list, and nothing of it is read yet
          }}
        />
        {error !== null && !isFetchNextPageError && (
          <ErrorNotice
            title="The deliveries could not be read"
            error={error}
            onRetry={() => void deliveries.refetch()}
          />
        )}
        {shown === undefined && error === null && <DeliverySkeletons />}
        {shown?.length === 0 && <NoDeliveries filter={filter} />}
        {shown !== undefined && shown.length > 0 && (
          <DeliveryList
            ref={list}
            webhook={webhook}
            deliveries={shown}
            open={open}
            onOpen={setOpen}
            hasLeft={(delivery) => read?.includes(delivery) === false}
            isStale={deliveries.isPlaceholderData}
          />
        )}
        {isFetchNextPageError && <ErrorNotice title="No more could be read" error={error} />}
        {deliveries.hasNextPage && (
          <Center>
            <BusyButton
              variant="default"
              isBusy={deliveries.isFetchingNextPage}
              onClick={() => void deliveries.fetchNextPage()}
            >
              Load more
            </BusyButton>
          </Center>
        )}
      </Stack>
      <RecoverWindow webhook={webhook} isOpen={isRecovering} onClose={recovery.close} />
    </Panel>
  );
}
