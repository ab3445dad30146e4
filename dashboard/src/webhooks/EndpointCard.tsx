import { Card, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "react-router";
import type { Webhook } from "../../../client/index.ts";
import { EndpointState } from "./EndpointState.tsx";
import { EventBadges } from "./EventBadges.tsx";
import { endpointName } from "./endpoint-name.ts";
import { fillHours } from "./fill-hours.ts";
import { HealthNumbers } from "./HealthNumbers.tsx";
import { HourBars } from "./HourBars.tsx";
import { LastSent } from "./LastSent.tsx";
import type { Health } from "./read-health.ts";
import { sumHours } from "./sum-hours.ts";
import { TroubleNotice } from "./TroubleNotice.tsx";
import { troubleWords } from "./trouble-words.ts";
import link from "../ui/cover-link.module.css";
import classes from "./webhooks.module.css";

type Props = {
  webhook: Webhook;
  /** Undefined while it is read, null when it cannot be. */
  health: Health | null | undefined;
};

/** An endpoint and how it fares. All of the card leads to it. */
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
          <EventBadges types={webhook.eventTypes} />
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
