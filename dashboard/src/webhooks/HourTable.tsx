import { VisuallyHidden } from "@mantine/core";
import { hourWords } from "./hour-words.ts";
import { OUTCOMES } from "./outcome-words.ts";
import type { HealthHour } from "./read-health.ts";
import { sumHours } from "./sum-hours.ts";

/** What the chart shows, for who cannot see it: the hours in which something was sent. */
export function HourTable({ hours }: { hours: HealthHour[] }) {
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
