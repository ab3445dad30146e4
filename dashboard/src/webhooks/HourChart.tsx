import "@mantine/charts/styles.css";
import { BarChart } from "@mantine/charts";
import classes from "./health.module.css";
import { hourWords } from "./hour-words.ts";
import type { HealthHour } from "./read-health.ts";

const SERIES = [
  { name: "delivered", label: "Delivered", color: "var(--outcome-delivered)" },
  { name: "retrying", label: "Retrying", color: "var(--outcome-retrying)" },
  { name: "exhausted", label: "Given up", color: "var(--outcome-exhausted)" },
];

/** The hours as bars. Hidden from who hears the page: a table says the same. */
export default function HourChart({ hours, height }: { hours: HealthHour[]; height: number }) {
  return (
    <div aria-hidden className={classes.chart}>
      <BarChart
        h={height}
        data={hours.map((hour) => ({ ...hour, hour: hourWords(hour.hour) }))}
        dataKey="hour"
        type="stacked"
        series={SERIES}
        maxBarWidth={24}
        gridAxis="x"
        tickLine="none"
        xAxisProps={{ interval: "preserveStartEnd", minTickGap: 24 }}
        yAxisProps={{ allowDecimals: false, width: 36 }}
        barChartProps={{ accessibilityLayer: false }}
        barProps={{ isAnimationActive: false }}
      />
    </div>
  );
}
