import { Group, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import type { Prediction } from "../../../client/index.ts";
import classes from "../projects/run.module.css";
import { RunIcon, runWords } from "../projects/RunStatus.tsx";
import { clockTime } from "../ui/Time.tsx";

type Props = { run: Prediction | null; isCanceling: boolean };

/** Status and duration in one line of fixed height. */
export function RunState({ run, isCanceling }: Props) {
  return (
    <Group gap={6} wrap="nowrap" mih={22} className={classes.run} data-status={run?.status}>
      <RunIcon run={run} size={16} />
      <Text span size="sm">
        {run === null ? "Not generated yet" : isCanceling ? "Canceling…" : runWords(run)}
      </Text>
      {run !== null && (
        <Text span size="sm" c="dimmed">
          · <RunClock run={run} />
        </Text>
      )}
    </Group>
  );
}

/** Time since the start. Not announced to screen readers: it changes every second. */
function RunClock({ run: { createdAt, completedAt } }: { run: Prediction }) {
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
