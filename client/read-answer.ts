import { type ErrorDetail, isErrorCode } from "../shared/http/errors.ts";
import { type ExceededBudget, type ExhaustedBalance, KeyframeError, type KeyframeErrorFields } from "./error.ts";

/** `data` of the envelope; undefined for 304. */
export type Answer = { data: unknown; headers: Headers };

/** Unwraps the envelope. Throws a KeyframeError for a refusal, and for an answer without an envelope. */
export function readAnswer(status: number, headers: Headers, body: string, now: number): Answer {
  if (status === 304) return { data: undefined, headers };
  const about: KeyframeErrorFields = {
    status,
    requestId: headers.get("x-request-id"),
    retryAfterSeconds: readRetryAfter(headers, now),
  };
  const envelope = fieldsOf(parse(body));
  const isOk = status >= 200 && status < 300;
  // In the contract `data` is always an object.
  if (isOk && envelope?.success === true && fieldsOf(envelope.data)) return { data: envelope.data, headers };
  const error = envelope?.success === false ? fieldsOf(envelope.error) : null;
  if (isOk || typeof error?.code !== "string" || typeof error.message !== "string") {
    throw new KeyframeError(
      "not_an_envelope",
      `The answer (${status}) did not come from the service. Check the url.`,
      about,
    );
  }
  if (typeof error.requestId === "string") about.requestId = error.requestId;
  if (Array.isArray(error.details)) about.details = error.details.filter(isDetail);
  // This is the service's own answer, so it has the fields of the contract.
  if (error.code === "budget_exceeded") about.budget = (fieldsOf(error.budget) as ExceededBudget | null) ?? null;
  if (error.code === "balance_exhausted") about.balance = (fieldsOf(error.balance) as ExhaustedBalance | null) ?? null;
  const message = [error.message, ...sentencesOf(about.details ?? [])].join(" ");
  throw new KeyframeError(isErrorCode(error.code) ? error.code : "unknown", message, about);
}

const MAX_SENTENCES = 10;

/** The fields are also in the message, for logs that have only the message. */
function sentencesOf(details: ErrorDetail[]): string[] {
  const said = details
    .slice(0, MAX_SENTENCES)
    .map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const others = details.length - said.length;
  return others > 0 ? [...said, `And ${others} more.`] : said;
}

/** Retry-After in seconds, from a number or a date; null without one. */
export function readRetryAfter(headers: Headers, now: number): number | null {
  const value = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+$/.test(value)) return Number(value);
  const date = value.endsWith("GMT") ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - now) / 1000));
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

const fieldsOf = (value: unknown): Record<string, unknown> | null =>
  // The cast is safe for JSON: an array has none of the fields that are read.
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;

const isDetail = (value: unknown): value is ErrorDetail => {
  const detail = fieldsOf(value);
  return typeof detail?.path === "string" && typeof detail.message === "string";
};
