import {
  type Icon,
  IconAlertTriangle,
  IconCheck,
  IconCircleDashed,
  IconClockHour4,
  IconLoader2,
  IconX,
} from "@tabler/icons-react";
import type { Prediction, PredictionStatus } from "../../../client/index.ts";
import classes from "./run.module.css";

const ICON: Record<PredictionStatus, Icon> = {
  queued: IconClockHour4,
  starting: IconLoader2,
  processing: IconLoader2,
  succeeded: IconCheck,
  failed: IconAlertTriangle,
  canceled: IconX,
};

/** How a run stands, beside the words for it. */
export function RunIcon({ run, size }: { run: Prediction | null; size: number }) {
  const Mark = run === null ? IconCircleDashed : ICON[run.status];
  return <Mark size={size} aria-hidden className={classes.icon} data-status={run?.status} />;
}
