import { z } from "zod";
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from "zod-openapi";
import { ERROR_STATUS, type ErrorCode } from "../../http/errors.ts";
import { errorsOf, type Operation } from "../operations/operation.ts";
import { answerHeaders, errorHeaders } from "./headers.ts";

const errorDetail = z
  .strictObject({ path: z.string(), message: z.string() })
  .meta({ id: "ErrorDetail", description: "One thing that does not fit: the field (dotted) and a sentence." });

/** The envelope of a failed call with one of these codes. */
const failure = (codes: ErrorCode[]) =>
  z.strictObject({
    success: z.literal(false),
    data: z.null(),
    error: z.strictObject({
      code: z.enum(codes),
      message: z.string().meta({ description: "A sentence for a person that says what to do next." }),
      details: z.array(errorDetail).optional(),
      requestId: z.string().meta({ description: "Also in the log line of the request." }),
    }),
  });

/** The success of an operation, its errors by status, and 304 where it has it. */
export function responsesOf(operation: Operation): ZodOpenApiResponsesObject {
  const { status, answer, tagged, method } = operation;
  const data = z.strictObject({ success: z.literal(true), data: answer, error: z.null() });
  const success: ZodOpenApiResponseObject = {
    description: "Done.",
    headers: answerHeaders(operation),
    content: { "application/json": { schema: data } },
  };
  const unchanged =
    tagged && method === "GET"
      ? { "304": { description: "What you have is still right (If-None-Match).", headers: answerHeaders(operation) } }
      : {};
  return { [String(status)]: success, ...unchanged, ...errorResponses(errorsOf(operation)) };
}

/** The errors by status. */
export function errorResponses(codes: ErrorCode[]): ZodOpenApiResponsesObject {
  const statuses = [...new Set(codes.map((code) => ERROR_STATUS[code]))].sort((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => [
      String(status),
      errorResponse(codes.filter((code) => ERROR_STATUS[code] === status).sort()),
    ]),
  );
}

/** One component for each set of codes that share a status: made once, referred to by every operation. */
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

const pascal = (code: string) => code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

const exampleOf = (code: ErrorCode) => ({
  success: false,
  data: null,
  error: {
    code,
    message: ERROR_MEANING[code].replaceAll("`", ""),
    ...(code === "invalid_request" ? { details: [{ path: "title", message: "Is required." }] } : {}),
    requestId: "0f6c2f0e-4a0a-4f0c-8f43-0c2a9c9a7b91",
  },
});

/** When each error comes, and what to do about it. */
const ERROR_MEANING: Record<ErrorCode, string> = {
  invalid_json: "The body is not JSON. Correct it.",
  invalid_request: "The body, the query or a header does not fit. `details` names what; correct it.",
  unauthorized: "The session token is missing, malformed, expired or wrongly signed. Sign in and send a fresh one.",
  not_found: "Nothing is at this path, or nothing of yours has this identifier.",
  method_not_allowed: "The path takes other methods: `Allow` names them.",
  request_timeout: "The body did not arrive in time: nothing came for 10 s, or it took too long. Send it again.",
  frame_not_ready: "A frame this step builds on has not succeeded yet. Generate it, or wait for it.",
  generation_in_progress: "A generation of the project is still running. Cancel it or wait for its end.",
  generation_ended: "The prediction has ended already; there is nothing to cancel.",
  precondition_failed: "It has changed since you read it. Read it again, then send your change with the new ETag.",
  payload_too_large: "The body is too large. Send a smaller one.",
  unsupported_media_type: "The body is not of a kind this path takes.",
  idempotency_mismatch: "The Idempotency-Key was used for another request in the last 24 hours. Send a new one.",
  unsupported_input: "The model in use would drop or refuse part of this. Nothing was charged; leave that part out.",
  rate_limited: "Too many requests of this kind. Wait the seconds in `Retry-After`.",
  internal: "Our fault. Try again; if it stays, report the requestId.",
  unavailable: "The database or the platform is away. Wait the seconds in `Retry-After`.",
};
