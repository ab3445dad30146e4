import { Group, Text } from "@mantine/core";
import type { Prediction, Step } from "../../../client/index.ts";
import { RunIcon } from "./RunIcon.tsx";
import classes from "./run.module.css";
import { runWords, STEP_NAME } from "./step-words.ts";

/** How one step of a project stands, in an icon and in words. */
export function StepMark({ step, run }: { step: Step; run: Prediction | null }) {
  const words = run === null ? "Not yet" : runWords(run);
  return (
    <Group component="li" gap={6} wrap="nowrap" miw={0} className={classes.run} data-status={run?.status ?? "none"}>
      <RunIcon run={run} size={14} />
      <Text span size="xs" truncate title={`${STEP_NAME[step]}: ${words}`}>
        {STEP_NAME[step]}: {words}
      </Text>
    </Group>
  );
}
