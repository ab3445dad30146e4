import { Tooltip } from "@mantine/core";
import { useForceUpdate, useInterval } from "@mantine/hooks";
import { exactTime, relativeTime } from "./format-time.ts";

const REFRESH_MS = 30_000;

/** Relative time, kept up to date. The exact time shows on hover. */
export function Time({ iso }: { iso: string }) {
  useInterval(useForceUpdate(), REFRESH_MS, { autoInvoke: true });
  const exact = exactTime(iso);
  return (
    <Tooltip label={exact} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={iso}>{relativeTime(iso, Date.now())}</time>
    </Tooltip>
  );
}
