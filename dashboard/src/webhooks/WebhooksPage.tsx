import { Button, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus, IconWebhook } from "@tabler/icons-react";
import { EmptyState } from "../ui/EmptyState.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { PageHead } from "../ui/PageHead.tsx";
import { EndpointCard } from "./EndpointCard.tsx";
import { EndpointSkeletons } from "./EndpointSkeletons.tsx";
import { NewWebhook } from "./NewWebhook.tsx";
import { useHealth } from "./use-health.ts";
import { useWebhooks } from "./use-webhooks.ts";
import classes from "./webhooks.module.css";

/** The person's endpoints, and how each fared in the last 24 hours. */
export function Component() {
  const { data: webhooks, error, refetch } = useWebhooks();
  const health = useHealth(null);
  const [isNew, { open, close }] = useDisclosure(false);
  const add = (
    <Button leftSection={<IconPlus size={18} aria-hidden />} onClick={open}>
      Add endpoint
    </Button>
  );
  return (
    <>
      <PageHead
        title="Webhooks"
        text="Your servers are told when a project is saved and when a frame or a video is done, with signed requests."
        actions={webhooks?.length === 0 ? null : add}
      />
      <Stack gap="lg">
        {error !== null && (
          <ErrorNotice title="The endpoints could not be read" error={error} onRetry={() => void refetch()} />
        )}
        {health.error !== null && (
          <ErrorNotice
            title="The numbers of the last 24 hours could not be read"
            error={health.error}
            onRetry={() => void health.refetch()}
          />
        )}
        {webhooks === undefined && error === null && <EndpointSkeletons count={2} />}
        {webhooks?.length === 0 && (
          <EmptyState
            Icon={IconWebhook}
            title="Nobody is told yet"
            text="Add the address of a server of yours. It gets a signed request for each event, again and again until it answers."
            action={add}
          />
        )}
        {webhooks !== undefined && webhooks.length > 0 && (
          <ul className={classes.list}>
            {webhooks.map((webhook) => (
              <EndpointCard
                key={webhook.webhookId}
                webhook={webhook}
                health={health.data ?? (health.error === null ? undefined : null)}
              />
            ))}
          </ul>
        )}
      </Stack>
      <NewWebhook isOpen={isNew} onClose={close} />
    </>
  );
}
