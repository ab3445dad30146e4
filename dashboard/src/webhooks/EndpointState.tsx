import { Alert, Group, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { KeyframeClient, Webhook } from "../../../client/index.ts";
import { useKeyframe } from "../services.ts";
import { Time } from "../ui/Time.tsx";
import {
  type Icon,
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleDashed,
  IconPlayerPause,
  IconPlugX,
  IconRefreshAlert,
} from "../ui/Icons.tsx";
import { endpointState, type EndpointStateKind, troubleWords } from "./endpoint.ts";
import classes from "./health.module.css";
import type { HealthSums } from "./health.ts";
import { SmallButton } from "../ui/Buttons.tsx";
import { ErrorNotice } from "../ui/Notices.tsx";

const LOOK: Record<EndpointStateKind, [Icon, string | undefined]> = {
  off: [IconPlayerPause, undefined],
  disabled: [IconPlugX, classes.exhausted],
  failing: [IconAlertTriangle, classes.exhausted],
  troubled: [IconRefreshAlert, classes.retrying],
  healthy: [IconCircleCheck, classes.delivered],
  quiet: [IconCircleDashed, undefined],
};

export function EndpointState({ webhook, sums }: { webhook: Webhook; sums: HealthSums | undefined }) {
  const { kind, label } = endpointState(webhook, sums);
  const [Mark, className] = LOOK[kind];
  return (
    <Group gap={6} wrap="nowrap">
      <Mark size={18} className={className} style={{ flexShrink: 0 }} />
      <Text span size="sm" fw={600}>
        {label}
      </Text>
    </Group>
  );
}

type Change = Parameters<KeyframeClient["webhooks"]["change"]>[1];

/** Enabling an endpoint makes its waiting deliveries due. */
export function useChangeWebhook(webhookId: string) {
  const keyframe = useKeyframe();
  return useMutation({ mutationFn: (change: Change) => keyframe.webhooks.change(webhookId, change) });
}

/** The endpoint's problem and its remedy. Renders nothing while it is healthy. */
export function TroubleNotice({ webhook }: { webhook: Webhook }) {
  const change = useChangeWebhook(webhook.webhookId);
  const words = troubleWords(webhook, Date.now());
  if (words === null) return null;
  const isOff = webhook.disabledReason === "by_owner";
  const since = webhook.disabledAt ?? webhook.failingSince;
  return (
    <Alert
      variant="default"
      icon={isOff ? <IconPlayerPause /> : <IconAlertTriangle className={classes.exhausted} />}
      title={words.title}
    >
      <Stack gap="xs">
        <Text size="sm">
          {since !== null && (
            <>
              {webhook.enabled ? "Failing since" : "Disabled"} <Time iso={since} />.{" "}
            </>
          )}
          {words.whatToDo}
        </Text>
        <ErrorNotice title="Could not enable" error={change.error} />
        {!webhook.enabled && (
          <Group>
            <SmallButton
              isBusy={change.isPending}
              onClick={() =>
                change.mutate({ enabled: true }, { onSuccess: () => document.querySelector("main")?.focus() })
              }
            >
              Enable endpoint
            </SmallButton>
          </Group>
        )}
      </Stack>
    </Alert>
  );
}
