import { z } from "zod";
import type { Operation } from "../../../../shared/contract/operations/operation.ts";
import type { BodyReader } from "../../../../shared/http/read-body.ts";
import type { Caller } from "../auth/verify-session.ts";
import { hashRequest, type Idempotency, readKey } from "./idempotency.ts";
import { invalidFields, invalidRequest, issueSentence } from "./invalid-request.ts";
import { openUpload } from "./read-upload.ts";
import { readJson } from "./request-body.ts";

/** A validated request whose operation is not known to the type system; call.ts has the precise one. */
export type AnyCall = {
  ownerId: string | null;
  token: string | null;
  path: (name: string) => string;
  query: unknown;
  body: unknown;
  idempotency: Idempotency;
  headers: Headers;
  signal: AbortSignal;
};

/**
 * Validates what came by what the operation takes. Throws ApiError: invalid_request, invalid_json, unsupported_media_type, and
 * what the reader throws. An image is not read here: its handler takes the caller's token before.
 */
export async function readCall(
  operation: Operation,
  request: Request,
  caller: Caller,
  path: (name: string) => string,
  readBody: BodyReader,
): Promise<AnyCall> {
  const url = new URL(request.url);
  const query = readQuery(url, operation.query ?? noQuery);
  const body = await bodyOf(operation, request, readBody);
  return {
    ownerId: caller.ownerId,
    token: caller.token,
    path,
    query,
    body,
    idempotency: await idempotencyOf(operation, request, url.pathname, body),
    headers: request.headers,
    // Only who waits asks for it: the runtime makes it then, and an error to abort it with when the answer is out.
    get signal() {
      return request.signal;
    },
  };
}

async function bodyOf({ body, bodyMayBeEmpty }: Operation, request: Request, read: BodyReader) {
  if (body === undefined) return undefined;
  if (body === "image") return openUpload(request);
  return await readJson(request, body, { read, mayBeEmpty: bodyMayBeEmpty === true });
}

/** A repeated PATCH or DELETE ends where the first one did, so only POST has a key. */
async function idempotencyOf(
  operation: Operation,
  request: Request,
  path: string,
  body: unknown,
): Promise<Idempotency> {
  const key = operation.method === "POST" ? readKey(request.headers) : undefined;
  if (key === undefined) return {};
  if (operation.body === "image") return { idempotency_key: key };
  return { idempotency_key: key, request_hash: await hashRequest(request.method, path, body) };
}

/** For paths that take no query string. */
const noQuery = z.strictObject({});

/** What functions.invoke of supabase-js adds when it is told a region. It is for the platform, which passes it on. */
const OF_THE_PLATFORM = "forceFunctionRegion";

/** Parses the query string. Throws invalid_request for a parameter that is unknown, repeated or does not fit. */
function readQuery<Output>(url: URL, schema: z.ZodType<Output>): Output {
  const given = new Map<string, string>();
  const repeated = new Set<string>();
  for (const [name, value] of url.searchParams) {
    if (name === OF_THE_PLATFORM) continue;
    if (given.has(name)) repeated.add(name);
    given.set(name, value);
  }
  if (repeated.size > 0) throw invalidFields([...repeated].map((path) => ({ path, message: "Must be given once." })));
  const parsed = schema.safeParse(Object.fromEntries(given), { error: issueSentence });
  if (!parsed.success) throw invalidRequest(parsed.error);
  return parsed.data;
}
