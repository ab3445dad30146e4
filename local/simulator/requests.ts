import { z } from "zod";
import type { InvalidField } from "./check-input.ts";
import { EVENT_TYPES, type Prediction, predictionJson } from "./prediction.ts";

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

export function notFound(): Problem {
  return new Problem(404, "Not found", "The requested resource could not be found.");
}

export function invalidInput(fields: readonly InvalidField[]): Problem {
  const detail = fields.map(({ field, description }) => `- ${field}: ${description}\n`).join("");
  return new Problem(422, "Input validation failed", detail, { invalid_fields: fields });
}

const schema = z.object({
  model: z.string().optional(),
  version: z.string().optional(),
  input: z.record(z.string(), z.unknown()),
  webhook: z.url({ protocol: /^https?$/ }).optional(),
  webhook_events_filter: z.array(z.enum(EVENT_TYPES)).optional(),
});

export type CreateRequest = z.infer<typeof schema>;

/** Parses the body of a create; throws the provider's 400 or 422. */
export function parseCreateRequest(text: string): CreateRequest {
  const parsed = schema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path, message, code }) => {
    return { type: code, field: path.join(".") || "body", description: message };
  });
  throw invalidInput(fields);
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(400, "Bad request", "The request is not valid JSON.");
  }
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

const PAGE_SIZE = 100;

/** One page of the list of predictions (`all`: newest first), by created_after and cursor. */
export function listPage(all: readonly Prediction[], query: URLSearchParams, baseUrl: string) {
  const after = Date.parse(query.get("created_after") ?? new Date(0).toISOString());
  const cursor = query.get("cursor");
  const matching = all.filter(({ createdAt }) => createdAt.getTime() >= after);
  const from = cursor === null ? 0 : matching.findIndex(({ id }) => id === cursor) + 1;
  if (Number.isNaN(after) || (cursor !== null && from === 0)) {
    throw new Problem(400, "Bad request", "Invalid cursor or created_after");
  }
  const page = matching.slice(from, from + PAGE_SIZE);
  const next = new URLSearchParams(query);
  next.set("cursor", page.at(-1)?.id ?? "");
  return {
    next: from + PAGE_SIZE < matching.length ? `${baseUrl}/v1/predictions?${next}` : null,
    results: page.map((prediction) => {
      // The list has only the documented fields.
      const { logs, deadline, webhook, webhook_events_filter, ...documented } = predictionJson(prediction, baseUrl);
      return documented;
    }),
  };
}
