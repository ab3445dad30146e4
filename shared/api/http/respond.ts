import { time } from "../../contract/fields.ts";
import { type PredictionStatus, predictionStatus } from "../../contract/predictions.ts";
import type { Project } from "../../contract/projects.ts";
import { type ApiError, type Envelope, failed, succeeded } from "../../http/errors.ts";
import type { AnswerBase } from "../data/database.ts";
import { type PredictionRow, wireStatus } from "../data/map-prediction.ts";
import { MIN_URL_LIFE_MS, type SignedFile } from "../data/storage.ts";

/** Undefined `data` means 304: the caller's copy is current. */
export type Answer<Data = unknown> = { data: Data | undefined; headers?: Record<string, string> };

/** RateLimit fields (draft-ietf-httpapi-ratelimit-headers) and Idempotency-Replayed. */
export function answerHeaders({ rate, replayed }: AnswerBase): Record<string, string> {
  const headers: Record<string, string> = {};
  if (replayed) headers["Idempotency-Replayed"] = "true";
  if (rate) {
    headers["RateLimit-Policy"] = `"${rate.policy}";q=${rate.limit};w=${rate.window_seconds}`;
    headers.RateLimit = `"${rate.policy}";r=${Math.max(0, rate.remaining)};t=${Math.max(0, rate.reset_seconds)}`;
  }
  return headers;
}

/** Any web page may call the API, because sessions are sent in a header, never in a cookie. */
const ALWAYS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers":
    "x-request-id, retry-after, location, etag, preference-applied, ratelimit, ratelimit-policy, idempotency-replayed",
  "Cache-Control": "no-store",
  "Referrer-Policy": "no-referrer", // the address of a shared film has its token
  "X-Content-Type-Options": "nosniff",
};

/** The headers of supabase-js (its corsHeaders, and x-region), of the contract, and of tracing (Sentry adds some to every request). */
const PREFLIGHT = {
  "Access-Control-Allow-Methods": "GET, HEAD, POST, PATCH, DELETE",
  "Access-Control-Allow-Headers":
    "authorization, apikey, content-type, x-client-info, x-region, x-retry-count, traceparent, tracestate, baggage, sentry-trace, idempotency-key, x-request-id, prefer, if-match, if-none-match",
  "Access-Control-Max-Age": "86400",
};

export const respond = (requestId: string, status: number, { data, headers }: Answer): Response =>
  data === undefined
    ? new Response(null, { status: 304, headers: { ...ALWAYS, ...headers, "X-Request-Id": requestId } })
    : envelope(requestId, status, succeeded(data), headers);

export function respondWithError(requestId: string, { code, message, status, extra }: ApiError): Response {
  const { details, budget, balance, headers } = extra;
  const signIn = status === 401 ? { "WWW-Authenticate": "Bearer" } : {};
  const body = failed({ code, message, details, budget, balance, requestId });
  return envelope(requestId, status, body, { ...signIn, ...headers });
}

/** A document for tools, without the envelope. */
export const respondWithDocument = (requestId: string, text: string, contentType: string): Response =>
  new Response(text, { headers: { ...ALWAYS, "Content-Type": contentType, "X-Request-Id": requestId } });

export const respondToPreflight = (requestId: string): Response =>
  new Response(null, { status: 204, headers: { ...ALWAYS, ...PREFLIGHT, "X-Request-Id": requestId } });

function envelope(
  requestId: string,
  status: number,
  body: Envelope<unknown>,
  headers?: Record<string, string>,
): Response {
  return Response.json(body, { status, headers: { ...ALWAYS, ...headers, "X-Request-Id": requestId } });
}

export type KnownTag = { tag: string; status: PredictionStatus; state: string; expires: number };

/**
 * The ETag of a prediction: its status, its state, and when its signed URL expires (seconds since 1970, 0 without a URL).
 * The tag is weak, because the URL may be another one.
 */
export function tagOf(row: PredictionRow, file: SignedFile | undefined): string {
  const expires = file ? Math.floor(Date.parse(file.expiresAt) / 1000) : 0;
  return `W/"${wireStatus(row)}-${stateOf(row)}-${expires}"`;
}

/** A project, film or element with its ETag: every change moves updatedAt. */
export const versioned = <Data extends Pick<Project, "updatedAt">>(data: Data, answer: AnswerBase): Answer<Data> => ({
  data,
  headers: { ...answerHeaders(answer), ETag: `"${data.updatedAt}"` },
});

/**
 * The versions in If-Match that could be ours; undefined without a condition. Weak tags are accepted, because a proxy may have made a tag
 * weak. Postgres has no year 0000.
 */
export function readVersions(ifMatch: string | null): string[] | undefined {
  if (ifMatch === null || ifMatch.trim() === "*") return undefined;
  return [...ifMatch.matchAll(/"(?!0000)([^"]{24})"/g)].flatMap(([, version]) => time.safeParse(version).data ?? []);
}

/** The first of our tags in If-None-Match, with or without its W/; undefined when there is none. */
export function readTag(ifNoneMatch: string | null): KnownTag | undefined {
  const [, opaque, status, state, expires] = /("([a-z]+)-([\w.-]{36,400})-(\d{1,12})")/.exec(ifNoneMatch ?? "") ?? [];
  const known = predictionStatus.safeParse(status);
  if (opaque === undefined || state === undefined || !known.success) return undefined;
  return { tag: `W/${opaque}`, status: known.data, state, expires: Number(expires) * 1000 };
}

/** Whether the caller's copy is current: the same state, and a URL that does not expire soon. */
export function isCurrent(known: KnownTag, row: PredictionRow, now: Date): boolean {
  if (known.state !== stateOf(row) || known.status !== wireStatus(row)) return false;
  return row.status !== "succeeded" || known.expires > now.getTime() + MIN_URL_LIFE_MS;
}

/**
 * What changes without the status. All other fields of the answer are set with the status, and a final status is never left. Exception: after
 * a model is renamed, polls get 304 until something else changes.
 */
const stateOf = ({ id, attempt, queuePosition, progress, cost, ...row }: PredictionRow) =>
  `${id}.${attempt}.${queuePosition ?? ""}.${progress ?? ""}.${flagsOf(row)}${row.changedElements.map(changeTag).join("")}.${costTag(cost)}`;

const flagsOf = ({ hidden, outdated, waitsFor, endImagePath }: Pick<PredictionRow, Flag>) =>
  `${hidden ? "h" : ""}${outdated ? "o" : ""}${waitsFor === null ? "" : `w${waitsFor.slice(0, 8)}`}${endImagePath === null ? "" : `e${/(\w{1,8})\.\w+$/.exec(endImagePath)?.[1] ?? ""}`}`;
type Flag = "hidden" | "outdated" | "waitsFor" | "endImagePath";

/** The beginning of the element's id and the initials of the changed fields. */
const changeTag = ({ elementId, changed }: PredictionRow["changedElements"][number]) =>
  `_${elementId.slice(0, 8)}${changed.map((field) => field[0]).join("")}`;

const costTag = (cost: PredictionRow["cost"]) =>
  cost === null ? "" : `${cost.state}.${cost.amountMicros ?? ""}.${cost.atMostMicros ?? ""}`;
