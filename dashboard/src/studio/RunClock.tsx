import type { Prediction } from "../../../client/index.ts";
import { clockTime } from "../ui/format-time.ts";
import { useNow } from "./use-now.ts";

/** How long a run has taken so far, or took in all; counted from the click. Silent for who listens: it would never stop talking. */
export function RunClock({ run: { createdAt, completedAt } }: { run: Prediction }) {
  const now = useNow(completedAt === null);
  const end = completedAt === null ? now : Date.parse(completedAt);
  const length = clockTime(end - Date.parse(createdAt));
  return (
    <span style={{ fontVariantNumeric: "tabular-nums" }} role="timer" aria-live="off">
      {completedAt === null ? length : `took ${length}`}
    </span>
  );
}
