import { Card, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "react-router";
import type { Webhook } from "../../../client/index.ts";
import link from "../ui/cover-link.module.css";
import { endpointName, troubleWords } from "./endpoint.ts";
import { EndpointState, TroubleNotice } from "./EndpointState.tsx";
import { fillHours, type Health, sumHours } from "./health.ts";
import { HealthNumbers, HourBars, LastSent } from "./HealthPanel.tsx";
import classes from "./webhooks.module.css";

type Props = {
  webhook: Webhook;
  /** Undefined while loading, null after an error. */
  health: Health | null | undefined;
};

/** The whole card links to the endpoint. */
export function EndpointCard({ webhook, health }: Props) {
  const known = health?.endpoints.find(({ endpoint_id }) => endpoint_id === webhook.webhookId);
  const sums = known && sumHours(known.hours);
  return (
    <Card component="li" withBorder padding="lg" className={classes.card}>
      <div className={classes.endpoint}>
        <Stack gap={6} miw={0}>
          <EndpointState webhook={webhook} sums={sums} />
          <Title order={2} size="h4">
            <Link to={`/webhooks/${webhook.webhookId}`} className={link.cover}>
              {endpointName(webhook)}
            </Link>
          </Title>
          <Text size="sm" c="dimmed" className={classes.address}>
            {webhook.url}
          </Text>
          <Text size="sm" c="dimmed">
            {webhook.eventTypes.join(", ") || "All events"}
          </Text>
        </Stack>
        <Stack gap={6}>
          <HealthNumbers sums={health === null ? null : sums} />
          <HourBars hours={health && known ? fillHours(health.since, known.hours) : []} />
          <Group className={link.above} w="fit-content">
            <LastSent last={known?.last} />
          </Group>
        </Stack>
      </div>
      {troubleWords(webhook, Date.now()) !== null && (
        <div className={link.above} style={{ marginTop: "var(--mantine-spacing-md)" }}>
          <TroubleNotice webhook={webhook} />
        </div>
      )}
    </Card>
  );
}
