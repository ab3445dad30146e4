import { Tooltip } from "@mantine/core";
import { useInterval } from "@mantine/hooks";
import { useState } from "react";
import { exactTime, relativeTime } from "./format-time.ts";

const REFRESH_MS = 30_000;

/** How long ago, in words that stay right; the exact time in the person's zone on hover. */
export function Time({ iso }: { iso: string }) {
  const [now, setNow] = useState(() => Date.now());
  useInterval(() => setNow(Date.now()), REFRESH_MS, { autoInvoke: true });
  const exact = exactTime(iso);
  return (
    <Tooltip label={exact} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={iso}>{relativeTime(iso, Math.max(now, Date.now() - REFRESH_MS))}</time>
    </Tooltip>
  );
}
