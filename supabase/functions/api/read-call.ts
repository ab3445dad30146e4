import type { z } from "zod";
import type { Operation } from "../../../shared/contract/operations/operation.ts";
import type { Caller } from "./call.ts";
import { type Idempotency, readIdempotency } from "./idempotency.ts";
import { readOptionalJson } from "./optional-json.ts";
import { readUpload } from "./read-upload.ts";
import { readJson } from "./request-body.ts";
import { noQuery, readQuery } from "./request-query.ts";

/** A validated request whose operation is not known to the type system; call.ts has the precise one. */
export type AnyCall = {
  token: string | null;
  path: (name: string) => string;
  query: unknown;
  body: unknown;
  idempotency: Idempotency;
  headers: Headers;
  signal: AbortSignal;
};

/**
 * Validates what came by what the operation takes. Throws ApiError: invalid_request, invalid_json, payload_too_large,
 * unsupported_media_type.
 */
export async function readCall(
  operation: Operation,
  request: Request,
  caller: Caller,
  path: (name: string) => string,
): Promise<AnyCall> {
  const url = new URL(request.url);
  const query = readQuery(url, operation.query ?? noQuery);
  const { body, hashed } = await readBody(operation, request);
  // A repeated PATCH or DELETE ends where the first one did, so only POST has a key.
  const idempotency = operation.method === "POST" ? await readIdempotency(request, url.pathname, hashed) : {};
  return {
    token: caller.token,
    path,
    query,
    body,
    idempotency,
    headers: request.headers,
    // Only who waits asks for it: the runtime makes it then, and an error to abort it with when the answer is out.
    get signal() {
      return request.signal;
    },
  };
}

/** `hashed` is what an Idempotency-Key stands for. */
async function readBody({ body, bodyMayBeEmpty }: Operation, request: Request) {
  if (body === undefined) return { body: undefined, hashed: undefined };
  if (body === "image") {
    const upload = await readUpload(request);
    return { body: upload, hashed: upload.bytes };
  }
  const read: (request: Request, schema: z.ZodType) => Promise<unknown> = bodyMayBeEmpty ? readOptionalJson : readJson;
  const parsed = await read(request, body);
  return { body: parsed, hashed: parsed };
}
