import { BarChart } from "@mantine/charts";
import "@mantine/charts/styles.css";
import { useMediaQuery } from "@mantine/hooks";
import classes from "./health.module.css";
import { type HealthHour, hourWords } from "./health.ts";

const SERIES = [
  { name: "delivered", label: "Delivered", color: "var(--outcome-delivered)" },
  { name: "retrying", label: "Retrying", color: "var(--outcome-retrying)" },
  { name: "exhausted", label: "Failed", color: "var(--outcome-exhausted)" },
];

/** Hours between labels, so that they fit. */
const HOURS_APART = 3;
const HOURS_APART_ON_A_PHONE = 6;

/** Hidden from screen readers: HourTable says the same. */
export default function HourChart({ hours, height }: { hours: HealthHour[]; height: number }) {
  const apart = useMediaQuery("(max-width: 48em)") ? HOURS_APART_ON_A_PHONE : HOURS_APART;
  const data = hours.map((hour) => ({ ...hour, hour: hourWords(hour.hour) }));
  // Counted back from the current hour, which always has a label.
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
