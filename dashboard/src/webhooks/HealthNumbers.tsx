import { Skeleton } from "@mantine/core";
import classes from "./health.module.css";
import { OutcomeIcon } from "./OutcomeIcon.tsx";
import { OUTCOMES } from "./outcome-words.ts";
import type { HealthSums } from "./sum-hours.ts";

const NUMBER = new Intl.NumberFormat();

/** How many deliveries came to what in the last 24 hours; undefined while that is read, null when it cannot be. */
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
