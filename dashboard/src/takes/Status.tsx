import { Group, Text } from "@mantine/core";
import { useForceUpdate, useInterval } from "@mantine/hooks";
import type { ShotPrediction, PredictionStatus, Step } from "../../../client/index.ts";
import { clockTime } from "../ui/format-time.ts";
import {
  type Icon,
  IconAlertTriangle,
  IconCheck,
  IconCircleDashed,
  IconClockHour4,
  IconLoader2,
  IconX,
} from "../ui/Icons.tsx";
import { costWords } from "./cost-words.ts";
import classes from "./status.module.css";
import { markedOf, STEP_NAME, stepWords, timedOf } from "./status-words.ts";

type MarkProps = {
  step: Step;
  latest: ShotPrediction | null;
  take: ShotPrediction | null;
  /** The words when the step has no prediction. */
  none?: string;
};

export function StepMark({ step, latest, take, none = "Not yet" }: MarkProps) {
  const prediction = markedOf(latest, take);
  const words = latest === null ? none : stepWords(latest, take);
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

export function StatusIcon({ prediction, size }: { prediction: ShotPrediction | null; size: number }) {
  const Mark = prediction === null ? IconCircleDashed : ICON[prediction.status];
  return <Mark size={size} className={classes.icon} data-status={prediction?.status} />;
}

/** `take`: the shown take, for the state of a whole step. */
type Props = { prediction: ShotPrediction | null; take?: ShotPrediction | null; isCanceling: boolean };

export function PredictionState({ prediction, take = null, isCanceling }: Props) {
  const marked = markedOf(prediction, take);
  const timed = prediction && timedOf(prediction, take);
  return (
    <Group gap={6} wrap="nowrap" mih={22} className={classes.status} data-status={marked?.status}>
      <StatusIcon prediction={marked} size={16} />
      <Text span size="sm">
        <span>
          {prediction === null ? "Not generated yet" : isCanceling ? "Canceling…" : stepWords(prediction, take)}
        </span>
        {timed !== null && (
          <Text span inherit c="dimmed">
            {" · "}
            <PredictionClock key={timed.predictionId} prediction={timed} />
            {timed.cost !== null && ` · ${costWords(timed)}`}
          </Text>
        )}
      </Text>
    </Group>
  );
}

/** How long a prediction waits, then how long it takes. Screen readers do not announce it, because it changes every second. */
function PredictionClock({ prediction: { createdAt, startedAt, completedAt } }: { prediction: ShotPrediction }) {
  useInterval(useForceUpdate(), 1_000, { autoInvoke: completedAt === null });
  const end = completedAt === null ? Date.now() : Date.parse(completedAt);
  const length = clockTime(end - Date.parse(startedAt ?? createdAt));
  return (
    <span style={{ fontVariantNumeric: "tabular-nums" }} role="timer" aria-live="off">
      {completedAt === null ? length : startedAt === null ? "not started" : `took ${length}`}
    </span>
  );
}
