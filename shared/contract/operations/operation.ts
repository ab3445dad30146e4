import type { z } from "zod";
import type { ErrorCode } from "../../http/errors.ts";

/** One request that works as it stands, once its sample identifiers (samples.ts) are replaced by real ones. */
export type RequestExample = {
  summary: string;
  /** Values of the path's parameters. */
  path?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
};

/**
 * What one method of one path takes and answers. The function `api` routes and validates by it, the client takes its
 * types from it, and openapi.json is made of it.
 */
export type Operation = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below /api; `:name` is a parameter of `path`. */
  at: `/${string}`;
  tag: "Projects" | "Generation" | "Webhooks" | "Service";
  summary: string;
  /** What it does, what it costs and what to do when it fails, in Markdown. */
  description: string;
  /** session: a user's session token; manager: that, or the project's secret key; nobody: open to all. */
  caller: "session" | "manager" | "nobody";
  /** What only the project's secret key may ask for, of an operation that is otherwise open to all. */
  needsSecretKey?: string;
  path?: z.ZodObject;
  query?: z.ZodObject;
  /** A JSON body, or an image. */
  body?: z.ZodType | "image";
  /** An empty body counts as {}. */
  bodyMayBeEmpty?: true;
  status: 200 | 201 | 202;
  /** `data` of the envelope. */
  answer: z.ZodType;
  /** Answers with an ETag: for reads also 304. */
  tagged?: true;
  /** Answers with an ETag that a PATCH takes as If-Match. */
  versioned?: true;
  /** Takes Prefer: wait=N. */
  waits?: true;
  /** Beside those that any request can meet (errorsOf). */
  errors?: readonly ErrorCode[];
  /** One example per kind of request; the first one is shown first. */
  examples: readonly [RequestExample, ...RequestExample[]];
};

/** Every error an operation can answer with: its own and those that belong to what it takes. */
export function errorsOf(operation: Operation): ErrorCode[] {
  const { method, caller, body } = operation;
  const codes: ErrorCode[] = [
    "invalid_request",
    "method_not_allowed",
    "internal",
    "unavailable",
    ...(operation.errors ?? []),
  ];
  if (caller !== "nobody") codes.push("unauthorized", "rate_limited");
  if (operation.needsSecretKey !== undefined) codes.push("unauthorized");
  if (body !== undefined) codes.push("payload_too_large", "request_timeout", "unsupported_media_type");
  if (body !== undefined && body !== "image") codes.push("invalid_json");
  if (method === "POST") codes.push("idempotency_mismatch", "not_found");
  return [...new Set(codes)];
}
