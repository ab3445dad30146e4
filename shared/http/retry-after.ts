const SECONDS = /^\d+$/;
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/** The seconds of a Retry-After, which is a number of seconds or an HTTP date. Null if it is neither. The caller limits them. */
export function retryAfterSeconds(given: unknown, now: number): number | null {
  if (typeof given === "number") return Math.max(0, given);
  const text = String(given ?? "").trim();
  if (SECONDS.test(text)) return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
  const wait = HTTP_DATE.test(text) ? (Date.parse(text) - now) / 1000 : Number.NaN;
  return Number.isNaN(wait) ? null : Math.max(0, wait);
}

/** A random 2 to 5 seconds, so that senders refused together do not return together. */
export const retryAfterJitter = (): { "Retry-After": string } => ({
  "Retry-After": String(2 + Math.floor(Math.random() * 4)),
});
