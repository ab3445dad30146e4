import type { z } from "zod";
import type { ErrorCode } from "../../http/errors.ts";

/** A request that works once its sample identifiers (samples.ts) are replaced by real ones. */
type RequestExample = {
  summary: string;
  path?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
};

/**
 * One method of one path. The function `api` routes and validates by it. openapi.json comes from it, and a test compares the client's types
 * with it.
 */
export type Operation = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below /api; `:name` is a parameter of `path`. */
  at: `/${string}`;
  tag: "Projects" | "Films" | "Elements" | "Generation" | "Webhooks" | "Keys" | "Service";
  summary: string;
  /** Markdown: its effect, its cost, and what to do when it fails. */
  description: string;
  /**
   * Who may call: session: a user with a session token or a key, or a server that acts for one. manager: also the project with its secret key.
   * server: only a server that acts for a user. nobody: no credentials.
   */
  caller: "session" | "manager" | "server" | "nobody";
  /** The part of an open operation that needs the project's secret key. */
  needsSecretKey?: string;
  path?: z.ZodObject;
  query?: z.ZodObject;
  /** A JSON body, or an image. */
  body?: z.ZodType | "image";
  /** A read that uses POST for its body. It takes no Idempotency-Key. */
  changesNothing?: true;
  /** A POST that recognizes its repetition by its body. It takes no Idempotency-Key. */
  happensOnce?: true;
  /** An empty body counts as {}. */
  bodyMayBeEmpty?: true;
  status: 200 | 201 | 202;
  /** `data` of the envelope. */
  answer: z.ZodType;
  /** The answer has an ETag; a read can answer 304. */
  tagged?: true;
  /** The answer has an ETag that changes and deletions with the error precondition_failed take as If-Match. */
  versioned?: true;
  /** Supports Prefer: wait=N. */
  waits?: true;
  /** Codes in addition to those that errorsOf adds. */
  errors?: readonly ErrorCode[];
  /** One example per kind of request; the first one is shown first. */
  examples: readonly [RequestExample, ...RequestExample[]];
};

/** Whether a repetition is recognized by an Idempotency-Key. A repeated PATCH or DELETE has the same effect as the first. */
export const takesKey = ({ method, changesNothing, happensOnce }: Operation): boolean =>
  method === "POST" && !changesNothing && !happensOnce;

/** All error codes of an operation: its own, and those of its method, caller and body. */
export function errorsOf(operation: Operation): ErrorCode[] {
  const { caller, body } = operation;
  const codes: ErrorCode[] = [
    "invalid_request",
    "method_not_allowed",
    "internal",
    "unavailable",
    "schema_outdated",
    ...(operation.errors ?? []),
  ];
  if (caller !== "nobody") codes.push("unauthorized", "forbidden", "user_not_found");
  if (caller !== "nobody" && operation.method !== "GET") codes.push("user_moved");
  if (caller === "session" || caller === "manager") codes.push("key_ended", "client_not_allowed", "rate_limited");
  if (operation.needsSecretKey !== undefined) codes.push("unauthorized");
  if (body !== undefined) codes.push("payload_too_large", "request_timeout", "unsupported_media_type");
  if (body !== undefined && body !== "image") codes.push("invalid_json");
  if (takesKey(operation)) codes.push("idempotency_mismatch", "not_found");
  return [...new Set(codes)];
}
