import { Button, Center, SegmentedControl, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconHistory } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import type { Webhook } from "../../../client/index.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { DeliveryList } from "./DeliveryList.tsx";
import { DeliverySkeletons } from "./DeliverySkeletons.tsx";
import { isSoon } from "./is-soon.ts";
import { NoDeliveries } from "./NoDeliveries.tsx";
import { Panel } from "./Panel.tsx";
import { RecoverWindow } from "./RecoverWindow.tsx";
import { useDeliveries } from "./use-deliveries.ts";
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
  const [isRecovering, recovery] = useDisclosure(false);
  const deliveries = useDeliveries(webhook, filter === "all" ? null : filter);
  const { data, error, isFetchNextPageError } = deliveries;
  const shown = data?.pages.flatMap((page) => page.deliveries);
  const isActive = webhook.enabled && (shown?.some((delivery) => isSoon(delivery, Date.now())) ?? false);
  useEffect(() => onActive(isActive), [isActive, onActive]);
  return (
    <Panel
      title="Deliveries"
      actions={
        <Button variant="default" size="xs" leftSection={<IconHistory size={16} aria-hidden />} onClick={recovery.open}>
          Recover…
        </Button>
      }
    >
      <Stack>
        <SegmentedControl
          aria-label="Which deliveries"
          size="xs"
          fullWidth
          data={FILTERS}
          value={filter}
          onChange={(value) => setFilter(value as DeliveryStatus | "all")} // one of FILTERS
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
          <DeliveryList webhook={webhook} deliveries={shown} isStale={deliveries.isPlaceholderData} />
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
