/**
 * Seconds from `now` until the time a Retry-After header names, in seconds or as an HTTP date; null when there is none or it
 * is neither. The database sets the limit.
 */
export function parseRetryAfter(header: string | undefined, now: Date): number | null {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
  // An HTTP date begins with the day's name; Date.parse alone would also take "-5" or "2".
  const time = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? null : Math.max(0, (time - now.getTime()) / 1000);
}
