import { Center, Skeleton, Stack, Text, VisuallyHidden } from "@mantine/core";
import type { Webhook } from "../../../client/index.ts";
import { Panel } from "../ui/page-parts.tsx";
import { Time } from "../ui/Time.tsx";
import { attemptWords } from "./deliveries/delivery.ts";
import { EndpointState, OutcomeIcon } from "./EndpointState.tsx";
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
import { ErrorNotice } from "../ui/notices.tsx";

const CHART_HEIGHT = 200;

export function HealthPanel({ webhook }: { webhook: Webhook }) {
  const { data, error, refetch } = useHealth(webhook.webhookId);
  const known = data?.endpoints[0];
  const hours = data === undefined ? undefined : fillHours(data.since, known?.hours ?? []);
  const isEmpty = known !== undefined && known.hours.length === 0;
  return (
    <Panel title="Last 24 hours" actions={<EndpointState webhook={webhook} sums={known && sumHours(known.hours)} />}>
      <Stack>
        {error !== null && (
          <ErrorNotice title="Could not load the last 24 hours" error={error} onRetry={() => void refetch()} />
        )}
        <HealthNumbers sums={hours ? sumHours(hours) : error === null ? undefined : null} />
        {isEmpty ? (
          <Center h={CHART_HEIGHT}>
            <Text c="dimmed">No deliveries in the last 24 hours.</Text>
          </Center>
        ) : hours === undefined ? (
          <Skeleton h={CHART_HEIGHT} />
        ) : (
          <HourChart hours={hours} />
        )}
        {hours !== undefined && !isEmpty && <HourTable hours={hours} />}
        <LastSent last={data === undefined ? undefined : (known?.last ?? null)} />
      </Stack>
    </Panel>
  );
}

const NUMBER = new Intl.NumberFormat();

/** Deliveries of the last 24 hours by outcome; undefined while loading, null after an error. */
export function HealthNumbers({ sums }: { sums: HealthSums | null | undefined }) {
  return (
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
}

const total = (hour: HealthHour): number => hour.delivered + hour.retrying + hour.exhausted;

const most = (hours: HealthHour[]): number => Math.max(1, ...hours.map(total));

const HOURS_APART = 3;

/** The bars with their scale and hours. Hidden from screen readers: HourTable says the same. */
function HourChart({ hours }: { hours: HealthHour[] }) {
  return (
    <div aria-hidden className={classes.chart} style={{ height: CHART_HEIGHT }}>
      <span className={classes.scale}>{NUMBER.format(most(hours))}</span>
      <HourBars hours={hours} />
      <div className={classes.hours}>
        {/* Counted back from the current hour, which always has a label. */}
        {hours.map(({ hour }, at) => (
          <span key={hour}>{(hours.length - 1 - at) % HOURS_APART === 0 && hourWords(hour)}</span>
        ))}
      </div>
    </div>
  );
}

/** Decorative: the numbers beside the bars say the same. */
export function HourBars({ hours }: { hours: HealthHour[] }) {
  return (
    <div className={classes.bars} aria-hidden>
      {hours.map((hour) => (
        <div
          key={hour.hour}
          className={classes.bar}
          style={{ height: `${(total(hour) / most(hours)) * 100}%` }}
          title={[hourWords(hour.hour), ...OUTCOMES.map(({ kind, label }) => `${label} ${hour[kind]}`)].join("\n")}
        >
          {OUTCOMES.map(({ kind }) => (
            <span key={kind} className={classes[kind]} style={{ flexGrow: sumHours([hour])[kind], flexBasis: 0 }} />
          ))}
        </div>
      ))}
    </div>
  );
}

/** The chart as a table for screen readers: hours with deliveries. */
function HourTable({ hours }: { hours: HealthHour[] }) {
  return (
    <VisuallyHidden>
      <table>
        <caption>Deliveries of the last 24 hours, by the hour of their last attempt</caption>
        <thead>
          <tr>
            <th scope="col">Hour</th>
            {OUTCOMES.map(({ kind, label }) => (
              <th key={kind} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {hours
            .filter(({ delivered, retrying, exhausted }) => delivered + retrying + exhausted > 0)
            .map((hour) => (
              <tr key={hour.hour}>
                <th scope="row">{hourWords(hour.hour)}</th>
                {OUTCOMES.map(({ kind }) => (
                  <td key={kind}>{sumHours([hour])[kind]}</td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </VisuallyHidden>
  );
}

/** The latest attempt; undefined while unknown. */
export function LastSent({ last }: { last: EndpointHealth["last"] | undefined }) {
  return (
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
}
