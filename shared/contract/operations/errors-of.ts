import type { ErrorCode } from "../../http/errors.ts";
import type { Operation } from "./operation.ts";

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
