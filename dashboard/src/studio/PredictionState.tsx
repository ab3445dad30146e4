import { Group, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import type { Prediction } from "../../../client/index.ts";
import classes from "../projects/status.module.css";
import { StatusIcon } from "../projects/status.tsx";
import { markedOf, stepWords, timedOf } from "../projects/status-words.ts";
import { clockTime } from "../ui/format-time.ts";
import { costWords } from "../ui/money.ts";

/** `take`: the one that stands for the step, if the state is of a whole step. */
type Props = { prediction: Prediction | null; take?: Prediction | null; isCanceling: boolean };

/** Status and duration in one line of fixed height. */
export function PredictionState({ prediction, take = null, isCanceling }: Props) {
  const marked = markedOf(prediction, take);
  const timed = prediction && timedOf(prediction, take);
  return (
    <Group gap={6} wrap="nowrap" mih={22} className={classes.status} data-status={marked?.status}>
      <StatusIcon prediction={marked} size={16} />
      <Text span size="sm">
        {prediction === null ? "Not generated yet" : isCanceling ? "Canceling…" : stepWords(prediction, take)}
      </Text>
      {timed !== null && (
        <Text span size="sm" c="dimmed">
          · <PredictionClock prediction={timed} />
          {timed.cost !== null && ` · ${costWords(timed.cost)}`}
        </Text>
      )}
    </Group>
  );
}

/** Time since the start. Not announced to screen readers: it changes every second. */
function PredictionClock({ prediction: { createdAt, completedAt } }: { prediction: Prediction }) {
  const now = useNow(completedAt === null);
  const end = completedAt === null ? now : Date.parse(completedAt);
  const length = clockTime(end - Date.parse(createdAt));
  return (
    <span style={{ fontVariantNumeric: "tabular-nums" }} role="timer" aria-live="off">
      {completedAt === null ? length : `took ${length}`}
    </span>
  );
}

/** The time in ms, updated each second while `isTicking`. */
function useNow(isTicking: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isTicking) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}
