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

/** The status of a step. */
export function StepMark({ step, prediction }: { step: Step; prediction: Prediction | null }) {
  const words = prediction === null ? "Not yet" : statusWords(prediction);
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

/** In the order of the film. */
export const FILM_ORDER = ["first-frame", "video", "last-frame"] as const satisfies Step[];

export const STEP_NAME: Record<Step, string> = {
  "first-frame": "First frame",
  video: "Video",
  "last-frame": "Last frame",
};

export const STATUS_WORD: Record<PredictionStatus, string> = {
  queued: "Queued",
  starting: "Starting",
  processing: "Generating",
  succeeded: "Done",
  failed: "Failed",
  canceled: "Canceled",
};

/** The status as text, with the queue position or the progress. */
export function statusWords({ status, queuePosition, progress }: Prediction): string {
  if (status === "queued" && queuePosition !== null && queuePosition > 0)
    return `Queued, number ${queuePosition} in line`;
  if (status === "processing" && progress !== null) return `${STATUS_WORD.processing}, ${Math.floor(progress * 100)} %`;
  return STATUS_WORD[status];
}
