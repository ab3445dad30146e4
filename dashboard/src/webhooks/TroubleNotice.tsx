import { Alert, Group, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconPlayerPause } from "@tabler/icons-react";
import type { Webhook } from "../../../client/index.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { Time } from "../ui/Time.tsx";
import classes from "./health.module.css";
import { troubleWords } from "./trouble-words.ts";
import { useChangeWebhook } from "./use-change-webhook.ts";

/** What is wrong with the endpoint as a whole, since when, and the way out. Nothing while it is well. */
export function TroubleNotice({ webhook }: { webhook: Webhook }) {
  const change = useChangeWebhook(webhook.webhookId);
  const words = troubleWords(webhook, Date.now());
  if (words === null) return null;
  const isOff = webhook.disabledReason === "by_owner";
  const since = webhook.disabledAt ?? webhook.failingSince;
  return (
    <Alert
      variant="default"
      icon={isOff ? <IconPlayerPause aria-hidden /> : <IconAlertTriangle aria-hidden className={classes.exhausted} />}
      title={words.title}
    >
      <Stack gap="xs">
        <Text size="sm">
          {since !== null && (
            <>
              {webhook.enabled ? "It began" : "That was"} <Time iso={since} />.{" "}
            </>
          )}
          {words.whatToDo}
        </Text>
        {change.error !== null && <ErrorNotice title="It was not enabled" error={change.error} />}
        {!webhook.enabled && (
          <Group>
            <BusyButton
              size="xs"
              variant="default"
              isBusy={change.isPending}
              onClick={() =>
                change.mutate({ enabled: true }, { onSuccess: () => document.querySelector("main")?.focus() })
              }
            >
              Enable it
            </BusyButton>
          </Group>
        )}
      </Stack>
    </Alert>
  );
}
