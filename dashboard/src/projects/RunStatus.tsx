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
import classes from "./run.module.css";

/** The status of a step. */
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

const ICON: Record<PredictionStatus, Icon> = {
  queued: IconClockHour4,
  starting: IconLoader2,
  processing: IconLoader2,
  succeeded: IconCheck,
  failed: IconAlertTriangle,
  canceled: IconX,
};

export function RunIcon({ run, size }: { run: Prediction | null; size: number }) {
  const Mark = run === null ? IconCircleDashed : ICON[run.status];
  return <Mark size={size} aria-hidden className={classes.icon} data-status={run?.status} />;
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
export function runWords({ status, queuePosition, progress }: Prediction): string {
  if (status === "queued" && queuePosition !== null && queuePosition > 0)
    return `Queued, number ${queuePosition} in line`;
  if (status === "processing" && progress !== null) return `${STATUS_WORD.processing}, ${Math.floor(progress * 100)} %`;
  return STATUS_WORD[status];
}
