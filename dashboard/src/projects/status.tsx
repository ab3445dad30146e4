import { Group, Text } from "@mantine/core";
import {
  type Icon,
  IconAlertTriangle,
  IconCheck,
  IconCircleDashed,
  IconClockHour4,
  IconLoader2,
  IconX,
} from "@tabler/icons-react";
import type { Prediction, PredictionStatus, Step } from "../../../client/index.ts";
import classes from "./status.module.css";
import { markedOf, STEP_NAME, stepWords } from "./status-words.ts";

/** The status of a step: its latest prediction and the take that stands for it. */
export function StepMark({ step, latest, take }: { step: Step; latest: Prediction | null; take: Prediction | null }) {
  const prediction = markedOf(latest, take);
  const words = latest === null ? "Not yet" : stepWords(latest, take);
  return (
    <Group
      component="li"
      gap={6}
      wrap="nowrap"
      miw={0}
      className={classes.status}
      data-status={prediction?.status ?? "none"}
    >
      <StatusIcon prediction={prediction} size={14} />
      <Text span size="xs" truncate title={`${STEP_NAME[step]}: ${words}`}>
        {STEP_NAME[step]}: {words}
      </Text>
    </Group>
  );
}

const ICON: Record<PredictionStatus, Icon> = {
  queued: IconClockHour4,
  starting: IconLoader2,
  processing: IconLoader2,
  succeeded: IconCheck,
  failed: IconAlertTriangle,
  canceled: IconX,
};

export function StatusIcon({ prediction, size }: { prediction: Prediction | null; size: number }) {
  const Mark = prediction === null ? IconCircleDashed : ICON[prediction.status];
  return <Mark size={size} aria-hidden className={classes.icon} data-status={prediction?.status} />;
}
