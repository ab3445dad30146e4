import classes from "./health.module.css";
import { OUTCOMES } from "./outcome-words.ts";
import type { HealthHour } from "./read-health.ts";
import { sumHours } from "./sum-hours.ts";

const total = (hour: HealthHour): number => hour.delivered + hour.retrying + hour.exhausted;

/** The last 24 hours as small bars: a picture of the numbers beside it, which say the same in words. */
export function HourBars({ hours }: { hours: HealthHour[] }) {
  const most = Math.max(1, ...hours.map(total));
  return (
    <div className={classes.bars} aria-hidden>
      {hours.map((hour) => (
        <div key={hour.hour} className={classes.bar} style={{ height: `${(total(hour) / most) * 100}%` }}>
          {OUTCOMES.map(({ kind }) => (
            <span key={kind} className={classes[kind]} style={{ flexGrow: sumHours([hour])[kind], flexBasis: 0 }} />
          ))}
        </div>
      ))}
    </div>
  );
}
