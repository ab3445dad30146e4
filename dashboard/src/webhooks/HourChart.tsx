import "@mantine/charts/styles.css";
import { BarChart } from "@mantine/charts";
import { useMediaQuery } from "@mantine/hooks";
import classes from "./health.module.css";
import { hourWords } from "./hour-words.ts";
import type { HealthHour } from "./read-health.ts";

const SERIES = [
  { name: "delivered", label: "Delivered", color: "var(--outcome-delivered)" },
  { name: "retrying", label: "Retrying", color: "var(--outcome-retrying)" },
  { name: "exhausted", label: "Given up", color: "var(--outcome-exhausted)" },
];

/** So many hours from one word below the chart to the next, so that they fit beside each other. */
const HOURS_APART = 3;
const HOURS_APART_ON_A_PHONE = 6;

/** The hours as bars. Hidden from who hears the page: a table says the same. */
export default function HourChart({ hours, height }: { hours: HealthHour[]; height: number }) {
  const apart = useMediaQuery("(max-width: 48em)") ? HOURS_APART_ON_A_PHONE : HOURS_APART;
  const data = hours.map((hour) => ({ ...hour, hour: hourWords(hour.hour) }));
  // From the present hour backwards: that is the one people look for.
  const ticks = data.map(({ hour }) => hour).filter((_, at) => (data.length - 1 - at) % apart === 0);
  return (
    <div aria-hidden className={classes.chart}>
      <BarChart
        h={height}
        data={data}
        dataKey="hour"
        type="stacked"
        series={SERIES}
        maxBarWidth={24}
        gridAxis="x"
        tickLine="none"
        xAxisProps={{ ticks, interval: 0 }}
        yAxisProps={{ allowDecimals: false, width: 36 }}
        barChartProps={{ accessibilityLayer: false }}
        barProps={{ isAnimationActive: false }}
      />
    </div>
  );
}
