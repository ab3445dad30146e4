import { Center, Skeleton, Stack, Text } from "@mantine/core";
import type { Webhook } from "../../../client/index.ts";
import { Panel, Unread } from "../ui/PageParts.tsx";
import { Time } from "../ui/Time.tsx";
import { attemptWords } from "./deliveries/delivery.ts";
import { OutcomeIcon } from "./deliveries/OutcomeIcon.tsx";
import { EndpointState } from "./EndpointState.tsx";
import classes from "./health.module.css";
import {
  type EndpointHealth,
  fillHours,
  type HealthHour,
  type HealthSums,
  hourWords,
  OUTCOMES,
  sumHours,
  useHealth,
} from "./health.ts";

const CHART_HEIGHT = 200;

export function HealthPanel({ webhook }: { webhook: Webhook }) {
  const health = useHealth(webhook.webhookId);
  const { data, error } = health;
  const known = data?.endpoints[0];
  const hours = data && known && fillHours(data.since, known.hours);
  const sums = known && sumHours(known.hours);
  return (
    <Panel title="Last 24 hours" actions={<EndpointState webhook={webhook} sums={sums} />}>
      <Stack>
        <Unread query={health} what="the last 24 hours" heights={[]} />
        <HealthNumbers sums={sums ?? (error === null ? undefined : null)} />
        {known?.hours.length === 0 ? (
          <Center h={CHART_HEIGHT}>
            <Text c="dimmed">No deliveries in the last 24 hours.</Text>
          </Center>
        ) : hours === undefined ? (
          <Skeleton h={CHART_HEIGHT} />
        ) : (
          <HourChart hours={hours} />
        )}
        <LastSent last={known?.last} />
      </Stack>
    </Panel>
  );
}

const NUMBER = new Intl.NumberFormat();

/** Deliveries of the last 24 hours by outcome. `sums`: undefined while loading, null after an error. */
export const HealthNumbers = ({ sums }: { sums: HealthSums | null | undefined }) => (
  <dl className={classes.numbers} aria-label="Deliveries of the last 24 hours">
    {OUTCOMES.map(({ kind, label }) => (
      <div key={kind}>
        <dt>
          <OutcomeIcon kind={kind} size={14} />
          {label}
        </dt>
        <dd>
          {sums === undefined ? <Skeleton h={20} my={4} w={40} /> : sums === null ? "–" : NUMBER.format(sums[kind])}
        </dd>
      </div>
    ))}
  </dl>
);

const total = (hour: HealthHour): number => hour.delivered + hour.retrying + hour.exhausted;

const most = (hours: HealthHour[]): number => Math.max(1, ...hours.map(total));

const barWords = (hour: HealthHour): string =>
  [hourWords(hour.hour), ...OUTCOMES.map(({ kind, label }) => `${label} ${hour[kind]}`)].join("\n");

const HOURS_APART = 3;

const HourChart = ({ hours }: { hours: HealthHour[] }) => (
  <div className={classes.chart} style={{ height: CHART_HEIGHT }}>
    <span aria-hidden className={classes.scale}>
      {NUMBER.format(most(hours))}
    </span>
    <HourBars hours={hours} isRead />
    <div aria-hidden className={classes.hours}>
      {/* The labels count back from the current hour, which always has one. */}
      {hours.map(({ hour }, at) => (
        <span key={hour}>{(hours.length - 1 - at) % HOURS_APART === 0 && hourWords(hour)}</span>
      ))}
    </div>
  </div>
);

/** The bars are decorative. With `isRead`, screen readers read each hour with deliveries. */
export const HourBars = ({ hours, isRead = false }: { hours: HealthHour[]; isRead?: boolean }) => (
  <div className={classes.bars} aria-hidden={!isRead}>
    {hours.map((hour) => (
      <div
        key={hour.hour}
        role="img"
        aria-hidden={total(hour) === 0}
        aria-label={barWords(hour)}
        className={classes.bar}
        style={{ height: `${(total(hour) / most(hours)) * 100}%` }}
        title={barWords(hour)}
      >
        {OUTCOMES.map(({ kind }) => (
          <span key={kind} className={classes[kind]} style={{ flexGrow: hour[kind], flexBasis: 0 }} />
        ))}
      </div>
    ))}
  </div>
);

/** `last`: the latest attempt. Undefined while it is unknown. */
export const LastSent = ({ last }: { last: EndpointHealth["last"] | undefined }) => (
  <Text size="sm" c="dimmed">
    {last === undefined && "\u00a0"}
    {last === null && "No deliveries yet"}
    {last && (
      <>
        Last sent <Time iso={last.at} />:{" "}
        {attemptWords({ statusCode: last.status_code, error: last.error }).short.toLowerCase()}
      </>
    )}
  </Text>
);
