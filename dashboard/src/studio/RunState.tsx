import { Group, Text } from "@mantine/core";
import type { Prediction } from "../../../client/index.ts";
import { RunIcon } from "../projects/RunIcon.tsx";
import classes from "../projects/run.module.css";
import { runWords } from "../projects/step-words.ts";
import { RunClock } from "./RunClock.tsx";

type Props = { run: Prediction | null; isCanceling: boolean };

/** How a run stands and how long it takes, in one line that is always there. */
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
