import { expect, inject } from "vitest";
import { z } from "zod";
import { exceededBudget } from "../../../shared/contract/costs.ts";
import { ERROR_STATUS, type ErrorCode } from "../../../shared/http/errors.ts";

const CODES = Object.keys(ERROR_STATUS) as [ErrorCode, ...ErrorCode[]]; // the table is not empty

/** Exactly what the contract allows: one more field, or one less, and the test fails. */
const envelope = z.discriminatedUnion("success", [
  z.strictObject({ success: z.literal(true), data: z.unknown(), error: z.null() }),
  z.strictObject({
    success: z.literal(false),
    data: z.null(),
    error: z.strictObject({
      code: z.enum(CODES),
      message: z.string().regex(/^[A-Za-z].*\.$/s, "a sentence, which may begin with the name of a field or a model"),
      details: z.array(z.strictObject({ path: z.string(), message: z.string().min(1) })).optional(),
      budget: z.strictObject(exceededBudget.shape).optional(),
      requestId: z.string().min(1),
    }),
  }),
]);

export type ApiError = Extract<z.infer<typeof envelope>, { success: false }>["error"];

/** An answer of the API whose envelope and headers were found to be in order. */
export type Reply = { status: number; headers: Headers; data: unknown; error: ApiError | null };

/** The header that belongs to each code. */
const PROMISED_HEADER: Partial<Record<ErrorCode, [name: string, shape: RegExp]>> = {
  unauthorized: ["www-authenticate", /^Bearer$/],
  method_not_allowed: ["allow", /^[A-Z]+(, [A-Z]+)*$/],
  rate_limited: ["retry-after", /^[1-9]\d*$/],
  unavailable: ["retry-after", /^[1-9]\d*$/],
};

/** Reads an answer and fails the test unless it keeps what every answer of the API has to keep. */
export async function readReply(response: Response): Promise<Reply> {
  const { status, headers } = response;
  const text = await response.text();
  expect(headers.get("content-type"), text).toBe("application/json");
  const body = envelope.parse(JSON.parse(text));
  expectOpenHeaders(headers);
  expectNoSecret(text);
  if (body.success) {
    expect([200, 201, 202]).toContain(status);
    return { status, headers, data: body.data, error: null };
  }
  const { code, requestId } = body.error;
  expect(status).toBe(ERROR_STATUS[code]);
  expect(headers.get("x-request-id")).toBe(requestId);
  const [name, shape] = PROMISED_HEADER[code] ?? [];
  if (name && shape) expect(headers.get(name)).toMatch(shape);
  return { status, headers, data: null, error: body.error };
}

/** The data of a call that has to succeed. */
export function dataOf(reply: Reply, status: number): unknown {
  if (reply.error || reply.status !== status) {
    throw new Error(`Expected ${status}, got ${reply.status}: ${JSON.stringify(reply.error ?? reply.data)}`);
  }
  return reply.data;
}

/** The headers of every answer, with a body or without. */
export function expectOpenHeaders(headers: Headers): void {
  expect(headers.get("x-request-id")).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
  expect(headers.get("access-control-allow-origin")).toBe("*");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
}

function expectNoSecret(text: string): void {
  const { secretKey, kickSecret, replicateToken, replicateWebhookSecret, liteJwtSecret, signingKey } = inject("stack");
  for (const secret of [secretKey, kickSecret, replicateToken, replicateWebhookSecret, liteJwtSecret, signingKey.d]) {
    expect(text).not.toContain(secret);
  }
  expect(text).not.toMatch(/\\n\s+at |PostgresError|lease_token|provider_output_url/);
}
