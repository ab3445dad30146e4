import { Text } from "@mantine/core";
import type { Delivery } from "../../../client/index.ts";
import { Time } from "../ui/Time.tsx";
import classes from "./attempts.module.css";
import { attemptWords } from "./attempt-words.ts";
import { formatDuration } from "./format-duration.ts";
import { OutcomeIcon } from "./OutcomeIcon.tsx";

/** Each request of a delivery: what came back, after how long, and what to do. The answer is shown as text, whatever it is. */
export function AttemptList({ attempts }: { attempts: Delivery["attemptLog"] }) {
  return (
    <ol className={classes.attempts} aria-label="Attempts">
      {attempts.map(({ attempt, startedAt, durationMs, statusCode, error, responseExcerpt }) => {
        const { short, hint } = attemptWords({ statusCode, error });
        return (
          <li key={attempt} className={classes.attempt}>
            <div className={classes.line}>
              <OutcomeIcon kind={error === null ? "delivered" : "exhausted"} />
              <Text span size="sm" fw={600}>
                {short}
              </Text>
              <Text span size="sm" c="dimmed">
                attempt {attempt}, after {formatDuration(durationMs)}, <Time iso={startedAt} />
              </Text>
            </div>
            {hint !== null && <Text size="sm">{hint}</Text>}
            {responseExcerpt !== null && responseExcerpt !== "" && (
              <pre className={classes.answer}>{responseExcerpt}</pre>
            )}
          </li>
        );
      })}
    </ol>
  );
}
