import type { Delivery, Step, Webhook } from "../../../../client/index.ts";
import { capitalized } from "../../ui/words.ts";

export type DeliveryStateKind = "waiting" | "retrying" | "delivered" | "exhausted";

export function deliveryState({ status, lastError }: Delivery): { kind: DeliveryStateKind; label: string } {
  if (status === "delivered") return { kind: "delivered", label: "Delivered" };
  if (status === "exhausted") return { kind: "exhausted", label: "Failed" };
  return lastError === null ? { kind: "waiting", label: "Pending" } : { kind: "retrying", label: "Retrying" };
}

/** The project or prediction of a delivery. Empty for a delivery about money. The step comes first, because a long title is cut. */
export function aboutWords({ eventType, projectId, projectTitle, predictionId, body }: Delivery): string {
  if (projectId === null) return eventType === "webhook.test" ? "A test" : "";
  const title = projectTitle ?? "Deleted project";
  if (predictionId === null) return title;
  const { data }: { data: { step: Step } } = JSON.parse(body); // the service made it
  return `${capitalized(data.step.replace("-", " "))} · ${title}`;
}

/** A delivery that is being sent has its next attempt in the past. */
const SOON_MS = 90_000;

/** Whether a delivery is being sent or is due soon. */
export const isSoon = ({ status, nextAttemptAt }: Delivery, now: number): boolean =>
  status === "pending" && nextAttemptAt !== null && Date.parse(nextAttemptAt) - now < SOON_MS;

type AttemptWords = { short: string; hint: string | null };

const BY_CLASS: Record<string, AttemptWords> = {
  timeout: { short: "No answer in time", hint: "Your server has 15 seconds. Answer first, then do the work." },
  connection: { short: "Could not connect", hint: "Check that your server is running and its port can be reached." },
  dns: { short: "Host not found", hint: "The host name does not resolve. Check its spelling and its DNS records." },
  tls: {
    short: "Certificate refused",
    hint: "The certificate is not valid: it has expired, is for another name, or its chain is incomplete.",
  },
  address: {
    short: "Address not allowed",
    hint: "The host resolves to an address that is not public. Use a public one.",
  },
  redirect: {
    short: "Answered with a redirect",
    hint: "Redirects are not followed. Register the address that it redirects to.",
  },
  too_large: {
    short: "Answer too large",
    hint: "The head of the answer was larger than 16 KiB. Send fewer or shorter headers.",
  },
  not_signed: {
    short: "Not sent: no signing secret",
    hint: "The endpoint's secret cannot be read. Rotate the secret, give the new one to your server, and send again.",
  },
};

/** The outcome of an attempt and what to do about a failure. `error`: its class, null when delivered. */
export function attemptWords({
  statusCode,
  error,
}: Pick<Delivery["attemptLog"][number], "statusCode" | "error">): AttemptWords {
  const known = error === null ? undefined : BY_CLASS[error];
  if (known !== undefined) return { ...known, short: withStatus(known.short, statusCode) };
  if (statusCode === null) return { short: error ?? "Not sent yet", hint: null };
  return { short: `Answered ${statusCode}`, hint: error === null ? null : hintFor(statusCode) };
}

const withStatus = (short: string, statusCode: number | null): string =>
  statusCode === null ? short : `${short} (${statusCode})`;

function hintFor(statusCode: number): string | null {
  if (statusCode === 401 || statusCode === 403) {
    return "Your server rejected it. Check that it has this endpoint's secret, and that it verifies the raw body.";
  }
  if (statusCode === 404 || statusCode === 405) return "Your server does not accept POST there. Check the path.";
  if (statusCode === 410) return "410 Gone: the endpoint is disabled.";
  if (statusCode === 429 || statusCode === 503)
    return "Your server asked to retry later. Keyframe follows its Retry-After.";
  if (statusCode >= 500) return "Your server failed. Check its logs.";
  return "Only an answer from 200 to 299 counts as delivered.";
}

/** For example “42 ms” or “1.4 s”. */
export const formatDuration = (milliseconds: number): string =>
  milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(1)} s`;

/** The value of a datetime-local field: in the user's time zone, to the minute. */
export function toLocalTime(time: Date): string {
  const shifted = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

/** The time as ISO 8601 in UTC. Null for an invalid input. */
export function fromLocalTime(local: string): string | null {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

const A_DAY_MS = 86_400_000;

/** The default start of a recovery: when the failures began, at least a day ago. Enabling an endpoint restarts `failingSince`. */
export const recoverySince = ({ failingSince, disabledAt }: Webhook, now: number): Date =>
  new Date(Math.min(now - A_DAY_MS, Date.parse(failingSince ?? disabledAt ?? "") || now));
