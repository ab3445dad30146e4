import type { InvalidField } from "./check-input.ts";

/** An error answer of the provider: problem JSON with at least `detail` and `status`. */
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
