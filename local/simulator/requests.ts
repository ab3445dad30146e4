import { z } from "zod";
import type { InvalidField } from "./check-input.ts";
import { eventTypes, type Prediction, predictionJson } from "./prediction.ts";

/** An error response of the provider: problem JSON with at least `detail` and `status`. */
export class Problem extends Error {
  readonly status: number;
  readonly extra: Record<string, unknown>;

  constructor(status: number, title: string | null, detail: string, extra: Record<string, unknown> = {}) {
    super(detail);
    this.status = status;
    this.extra = { ...(title === null ? {} : { title }), ...extra };
  }

  toResponse(): Response {
    const headers = new Headers({ "content-type": "application/problem+json" });
    const { retry_after: retryAfter } = this.extra;
    if (typeof retryAfter === "number") headers.set("retry-after", String(retryAfter));
    return new Response(JSON.stringify({ ...this.extra, detail: this.message, status: this.status }), {
      status: this.status,
      headers,
    });
  }
}

export function unauthenticated(): Problem {
  return new Problem(401, "Unauthenticated", "You did not pass a valid authentication token");
}

export function notFound(): Problem {
  return new Problem(404, "Not found", "The requested resource could not be found.");
}

export function invalidInput(fields: readonly InvalidField[]): Problem {
  const detail = fields.map(({ field, description }) => `- ${field}: ${description}\n`).join("");
  return new Problem(422, "Input validation failed", detail, { invalid_fields: fields });
}

export function throttled(retryAfter: number): Problem {
  const detail = `Request was throttled. Your rate limit for creating predictions resets in ~${retryAfter}s.`;
  return new Problem(429, null, detail, { retry_after: retryAfter });
}

const schema = z.object({
  model: z.string().optional(),
  version: z.string().optional(),
  input: z.record(z.string(), z.unknown()),
  webhook: z.url({ protocol: /^https?$/ }).optional(),
  webhook_events_filter: z.array(z.enum(eventTypes)).optional(),
});

export type CreateRequest = z.infer<typeof schema>;

/** Parses the body of a create; throws the provider's 400 or 422. */
export function parseCreateRequest(text: string): CreateRequest {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Problem(400, "Bad request", "The request body is not valid JSON.");
  }
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path, message, code }) => {
    return { type: code, field: path.join(".") || "body", description: message };
  });
  throw invalidInput(fields);
}

/** Milliseconds of a `Cancel-After` header: seconds ("90") or units ("45s", "10m", "1h30m"), at least 5 s. Null when absent. */
export function parseCancelAfter(header: string | undefined): number | null {
  if (header === undefined) return null;
  const [, hours, minutes, seconds, plain] = /^(?:(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?|(\d+))$/.exec(header.trim()) ?? [];
  const total = Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0) + Number(plain ?? 0);
  if (total >= 5 && total <= 24 * 3600) return total * 1000;
  throw new Problem(
    400,
    "Bad request",
    "Cancel-After must be a duration from 5 seconds to 24 hours, such as 30s or 10m.",
  );
}

/** Milliseconds of a `Prefer: wait` or `wait=N` header (1 to 60 s, 60 when no number is given). Null when absent. */
export function parsePreferWait(header: string | undefined): number | null {
  const [found, seconds] = /\bwait(?:=(\d+))?/.exec(header ?? "") ?? [];
  if (found === undefined) return null;
  return Math.max(1, Math.min(60, Number(seconds ?? 60))) * 1000;
}

const pageSize = 100;

type Page = { next: string | null; results: Record<string, unknown>[] };

/** One page of the list of predictions (`all`: newest first), by created_after and cursor. */
export function listPage(
  all: readonly Prediction[],
  query: URLSearchParams,
  { baseUrl }: { baseUrl: () => string },
): Page {
  const after = parseTime(query, "created_after");
  const matching = all.filter(({ createdAt }) => createdAt.getTime() >= after);
  const from = startOf(matching, query.get("cursor"));
  const page = matching.slice(from, from + pageSize);
  const link = (cursor: string) => {
    const params = new URLSearchParams(query);
    params.set("cursor", cursor);
    return `${baseUrl()}/v1/predictions?${params}`;
  };
  const last = page.at(-1);
  return {
    next: last && from + pageSize < matching.length ? link(last.id) : null,
    results: page.map((prediction) => listedJson(prediction, baseUrl())),
  };
}

/** A prediction as in the list, with only the documented fields. */
function listedJson(prediction: Prediction, baseUrl: string): Record<string, unknown> {
  const { logs, deadline, webhook, webhook_events_filter, ...documented } = predictionJson(prediction, baseUrl);
  return documented;
}

function startOf(predictions: readonly Prediction[], cursor: string | null): number {
  if (cursor === null) return 0;
  const at = predictions.findIndex((prediction) => prediction.id === cursor);
  if (at < 0) throw new Problem(400, "Bad request", "Invalid cursor");
  return at + 1;
}

function parseTime(query: URLSearchParams, name: string): number {
  const text = query.get(name);
  if (text === null) return Number.NEGATIVE_INFINITY;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new Problem(400, "Bad request", `${name} is not a date-time`);
  return time;
}
