import { Group, Text } from "@mantine/core";
import {
  type Icon,
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleDashed,
  IconPlayerPause,
  IconPlugX,
  IconRefreshAlert,
} from "@tabler/icons-react";
import type { Webhook } from "../../../client/index.ts";
import { type EndpointStateKind, endpointState } from "./endpoint-state.ts";
import classes from "./health.module.css";
import type { HealthSums } from "./sum-hours.ts";

const LOOK: Record<EndpointStateKind, [Icon, string | undefined]> = {
  off: [IconPlayerPause, undefined],
  disabled: [IconPlugX, classes.exhausted],
  failing: [IconAlertTriangle, classes.exhausted],
  troubled: [IconRefreshAlert, classes.retrying],
  healthy: [IconCircleCheck, classes.delivered],
  quiet: [IconCircleDashed, undefined],
};

/** How an endpoint stands, in an icon and in words. */
export function EndpointState({ webhook, sums }: { webhook: Webhook; sums: HealthSums | undefined }) {
  const { kind, label } = endpointState(webhook, sums);
  const [Mark, className] = LOOK[kind];
  return (
    <Group gap={6} wrap="nowrap">
      <Mark size={18} aria-hidden className={className} style={{ flexShrink: 0 }} />
      <Text span size="sm" fw={600}>
        {label}
      </Text>
    </Group>
  );
}
