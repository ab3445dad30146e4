import { hasEnded, type ListedProject, type Prediction } from "../../../client/index.ts";

export const isRunning = (run: Prediction | null | undefined): run is Prediction => run != null && !hasEnded(run);

/** The latest runs of a project that have not ended. */
export const runningOf = ({ predictions }: Pick<ListedProject, "predictions">): Prediction[] =>
  Object.values(predictions ?? {}).filter(isRunning);
