import { Group, Loader, Stack, Text } from "@mantine/core";
import { useEffect, useRef } from "react";
import type { Delivery } from "../../../client/index.ts";
import { Time } from "../ui/Time.tsx";
import { AttemptList } from "./AttemptList.tsx";
import { OutcomeIcon } from "./OutcomeIcon.tsx";
import { deliveryState } from "./delivery-state.ts";
import { useRefreshWebhook } from "./use-refresh-webhook.ts";
import { isGone, useWatchDelivery } from "./use-watch-delivery.ts";

/** A delivery that was just made, and each answer as it arrives. */
export function WatchedDelivery({ made }: { made: Delivery }) {
  const delivery = useWatchDelivery(made);
  const refresh = useRefreshWebhook(made.webhookId);
  const attempts = useRef(made.attempts);
  useEffect(() => {
    if (delivery.attempts === attempts.current) return;
    attempts.current = delivery.attempts;
    refresh(); // what stands behind the window
  }, [delivery.attempts, refresh]);
  const { kind } = deliveryState(delivery);
  return (
    <Stack gap="sm">
      <Group gap="sm" wrap="nowrap" role="status">
        {kind === "waiting" ? <Loader size="sm" aria-hidden /> : <OutcomeIcon kind={kind} size={20} />}
        <Text size="sm" fw={600}>
          {kind === "waiting" && "It is on its way. Waiting for your server's answer…"}
          {kind === "delivered" && "It arrived."}
          {kind === "exhausted" && "It was given up."}
          {kind === "retrying" && "It did not arrive."}
        </Text>
      </Group>
      <AttemptList attempts={delivery.attemptLog} />
      {kind === "retrying" && delivery.nextAttemptAt !== null && !isGone(delivery) && (
        <Text size="sm" c="dimmed">
          It is tried again by itself; the next attempt is <Time iso={delivery.nextAttemptAt} />.
        </Text>
      )}
    </Stack>
  );
}
