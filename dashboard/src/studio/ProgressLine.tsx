import type { Prediction } from "../../../client/index.ts";
import { STEP_NAME } from "../projects/step-words.ts";
import classes from "./screen.module.css";

/** How far a run is; a light that wanders where that is not known. */
export function ProgressLine({ run: { step, progress } }: { run: Prediction }) {
  const percent = progress === null ? undefined : Math.floor(progress * 100);
  return (
    <div
      className={classes.line}
      role="progressbar"
      aria-label={`Progress of the ${STEP_NAME[step].toLowerCase()}`}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >
      <div
        className={classes.lineFilled}
        data-unknown={percent === undefined || undefined}
        style={percent === undefined ? undefined : { width: `${percent}%` }}
      />
    </div>
  );
}
