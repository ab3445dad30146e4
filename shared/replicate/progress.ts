/** A bar as tqdm and its like draw it, perhaps redrawn after a carriage return: `video:  45%|████▌     | 45/100 [00:12<00:15]`. */
const BAR = /(?:^|[\s:])(\d{1,3})%\s*\|/g;
/** Progress stands at the end of the logs, so nothing before the last of them is read. */
const TAIL = 4000;

/** How far a run is, 0 to 1, by the last progress bar in its logs; null when there is none. */
export function parseProgress(logs: string | null | undefined): number | null {
  const bars = [...(logs ?? "").slice(-TAIL).matchAll(BAR)];
  const percent = bars.at(-1)?.[1];
  return percent === undefined ? null : Math.min(1, Number(percent) / 100);
}
