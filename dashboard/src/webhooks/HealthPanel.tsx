import { Center, Skeleton, Stack, Text } from "@mantine/core";
import { lazy, Suspense } from "react";
import type { Webhook } from "../../../client/index.ts";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { EndpointState } from "./EndpointState.tsx";
import { fillHours } from "./fill-hours.ts";
import { HealthNumbers } from "./HealthNumbers.tsx";
import { HourTable } from "./HourTable.tsx";
import { LastSent } from "./LastSent.tsx";
import { Panel } from "./Panel.tsx";
import { sumHours } from "./sum-hours.ts";
import { useHealth } from "./use-health.ts";

const HourChart = lazy(() => import("./HourChart.tsx"));
const CHART_HEIGHT = 200;

/** How the endpoint fared in the last 24 hours: numbers, and a chart by the hour. */
export function HealthPanel({ webhook, isActive }: { webhook: Webhook; isActive: boolean }) {
  const { data, error, refetch } = useHealth(webhook.webhookId, isActive);
  const known = data?.endpoints[0];
  const hours = data === undefined ? undefined : fillHours(data.since, known?.hours ?? []);
  const isEmpty = known !== undefined && known.hours.length === 0;
  return (
    <Panel title="Last 24 hours" actions={<EndpointState webhook={webhook} sums={known && sumHours(known.hours)} />}>
      <Stack>
        {error !== null && (
          <ErrorNotice title="The numbers could not be read" error={error} onRetry={() => void refetch()} />
        )}
        <HealthNumbers sums={hours ? sumHours(hours) : error === null ? undefined : null} />
        {isEmpty ? (
          <Center h={CHART_HEIGHT}>
            <Text c="dimmed">Nothing was sent in the last 24 hours.</Text>
          </Center>
        ) : (
          <Suspense fallback={<Skeleton h={CHART_HEIGHT} />}>
            {hours === undefined ? <Skeleton h={CHART_HEIGHT} /> : <HourChart hours={hours} height={CHART_HEIGHT} />}
          </Suspense>
        )}
        {hours !== undefined && !isEmpty && <HourTable hours={hours} />}
        <LastSent last={data === undefined ? undefined : (known?.last ?? null)} />
      </Stack>
    </Panel>
  );
}
