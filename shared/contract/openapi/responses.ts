import { z } from "zod";
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from "zod-openapi";
import { ERROR_STATUS, type ErrorCode } from "../../http/errors.ts";
import { exceededBudget, exhaustedBalance } from "../costs.ts";
import { errorsOf, type Operation } from "../operations/operation.ts";
import { answerHeaders, errorHeaders } from "./headers.ts";

const errorDetail = z.strictObject({ path: z.string(), message: z.string() }).meta({
  id: "ErrorDetail",
  description: "An invalid field: its dotted path and a sentence that says what is wrong.",
});

/** The envelope of an error with one of these codes. */
const failure = (codes: ErrorCode[]) =>
  z.strictObject({
    success: z.literal(false),
    data: z.null(),
    error: z.strictObject({
      code: z.enum(codes),
      message: z.string().describe("A sentence for a person that says what to do next."),
      details: z.array(errorDetail).optional(),
      budget: exceededBudget.optional().describe("Only for budget_exceeded."),
      balance: exhaustedBalance.optional().describe("Only for balance_exhausted."),
      requestId: z.string().describe("Also in the log line of the request."),
    }),
  });

export function responsesOf(operation: Operation, sample: unknown): ZodOpenApiResponsesObject {
  const { status, answer, tagged, method } = operation;
  const data = z.strictObject({ success: z.literal(true), data: answer, error: z.null() });
  const success: ZodOpenApiResponseObject = {
    description: "Success.",
    headers: answerHeaders(operation),
    content: {
      "application/json": {
        schema: data,
        ...(sample === undefined ? {} : { example: { success: true, data: sample, error: null } }),
      },
    },
  };
  const unchanged: ZodOpenApiResponsesObject =
    tagged && method === "GET"
      ? { "304": { description: "Your copy is current (If-None-Match).", headers: answerHeaders(operation) } }
      : {};
  return { [String(status)]: success, ...unchanged, ...errorResponses(errorsOf(operation)) };
}

export function errorResponses(codes: ErrorCode[]): ZodOpenApiResponsesObject {
  const statuses = [...new Set(codes.map((code) => ERROR_STATUS[code]))].sort((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => [
      String(status),
      errorResponse(codes.filter((code) => ERROR_STATUS[code] === status).sort()),
    ]),
  );
}

/** One shared component for each set of codes with the same status. */
const made = new Map<string, ZodOpenApiResponseObject>();

function errorResponse(codes: ErrorCode[]): ZodOpenApiResponseObject {
  const id = codes.map(pascal).join("Or");
  const response = made.get(id) ?? {
    id,
    description: codes.map((code) => `\`${code}\`: ${ERROR_MEANING[code]}`).join("\n\n"),
    headers: errorHeaders(codes),
    content: {
      "application/json": {
        schema: failure(codes),
        examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
      },
    },
  };
  made.set(id, response);
  return response;
}

export const pascal = (name: string) =>
  name.replaceAll(/(?:^|[_.])([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The fields that errors with these codes have in addition. */
const EXAMPLE_OF: Partial<Record<ErrorCode, object>> = {
  budget_exceeded: {
    budget: {
      scope: "owner",
      period: "month",
      estimateMicros: 450_000,
      limitMicros: 10_000_000,
      settledMicros: 9_600_000,
      heldMicros: 67_000,
      availableMicros: 333_000,
      resetsAt: "2026-12-01T00:00:00.000Z",
    },
  },
  balance_exhausted: { balance: { availableMicros: 333_000, estimateMicros: 450_000 } },
  invalid_request: { details: [{ path: "title", message: "Is required." }] },
};

const exampleOf = (code: ErrorCode) => ({
  success: false,
  data: null,
  error: {
    code,
    message: ERROR_MEANING[code].replaceAll("`", ""),
    ...EXAMPLE_OF[code],
    requestId: "0f6c2f0e-4a0a-4f0c-8f43-0c2a9c9a7b91",
  },
});

/** The cause of each error, and what to do. */
const ERROR_MEANING: Record<ErrorCode, string> = {
  invalid_json: "The body is not valid JSON. Correct it.",
  invalid_request: "The body, the query or a header is invalid. Correct the fields in `details`.",
  unauthorized:
    "The session token is missing, malformed, expired or wrongly signed, or the key is not one. Sign in and send a new token, or send a valid key.",
  key_ended: "The key was revoked or has expired. Make another one.",
  budget_exceeded:
    "The start can cost more than what is left of a budget. Nothing was started. `budget` says which one, what is left and when it resets: wait, or choose a cheaper model, resolution or length.",
  balance_exhausted:
    "The start can cost more than what is left of your prepaid balance. Nothing was started. `balance` has the figures: add credit, or choose a cheaper model, resolution or length.",
  spending_stopped: "The administrator has stopped new generations for now. Nothing was started. Try again later.",
  forbidden:
    "`Keyframe-User` was sent without the project's secret key, or together with a session. Only a server may send it.",
  client_not_allowed:
    "The key, or the app (OAuth client) whose token it is, may not do this for its user. Sign in to the service itself, use a key that may, or ask the administrator to allow the app.",
  not_found: "Nothing exists at this path, or none of your resources has this identifier.",
  user_not_found:
    "No user with the id in `Keyframe-User`, or of the key, can sign in: it is unknown, or the account was deleted or banned.",
  method_not_allowed: "The path does not support this method. `Allow` lists the methods it supports.",
  request_timeout: "The body did not arrive in time: it paused for 10 s, or took too long. Send it again.",
  frame_not_ready:
    "The first frame or last frame that the request uses has not succeeded. If it is running, repeat the request once it has succeeded. Otherwise generate the frame, or name one that succeeded.",
  generation_in_progress: "A generation of the project is still running. Cancel it, or wait for its end.",
  generation_ended: "The prediction has ended already; there is nothing to cancel.",
  model_unavailable:
    "The model that the request names is no longer available. Choose another one from `GET /api/models`, or name none.",
  user_moved:
    "The user has moved to another project of the service. Ask your router for it, and send the request there, with the same key.",
  precondition_failed:
    "The resource has changed since you read it. Read it again, then repeat your request with the new ETag.",
  payload_too_large: "The body is too large. Send a smaller one.",
  unsupported_media_type: "The path does not support this Content-Type.",
  idempotency_mismatch:
    "The Idempotency-Key was used for another request in the last 24 hours, or the `key` for another credit. Send a new one.",
  unsupported_input:
    "The model does not accept a value of this input. Nothing was charged. `message` says what it accepts and which models accept the value: choose one of them, or leave the value out.",
  price_unknown:
    "A budget or a balance applies, but no price is known for this model and input. Choose another model, or ask the administrator for its price.",
  rate_limited: "Too many requests of this kind. Wait for the time in `Retry-After`.",
  internal: "The service failed. Try again. If it keeps happening, report the requestId.",
  unavailable: "The database or the platform is not available. Wait for the time in `Retry-After`.",
  schema_outdated:
    "The database is missing migrations of this version. The operator of the service must apply them. Then try again.",
};
