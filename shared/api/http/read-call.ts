import type { z } from "zod";
import { noFields, visibleAscii } from "../../contract/fields.ts";
import type { BodyOf, OperationId, QueryOf } from "../../contract/operations/index.ts";
import { type Operation, takesKey } from "../../contract/operations/operation.ts";
import type { BodyReader } from "../../http/read-body.ts";
import type { Caller } from "../auth/verify-session.ts";
import { invalidFields, invalidRequest, issueSentence } from "../errors.ts";
import { sha256 } from "../sha256.ts";
import { openUpload, readJson, type UnreadUpload } from "./request-body.ts";

type Image = "uploadReferenceImage";

/** One request, validated by its operation in the contract. */
export type Call<Id extends OperationId> = {
  caller: Caller;
  /** The value of a path parameter; "" when there is none of this name. */
  path: (name: string) => string;
  query: QueryOf<Id>;
  body: Id extends Image ? UnreadUpload : BodyOf<Id>;
  /** Empty without an Idempotency-Key, and for methods other than POST. */
  idempotency: Idempotency;
  headers: Headers;
  /** Aborts when the caller disconnects. */
  signal: AbortSignal;
};

export type AnyCall = Omit<Call<OperationId>, "query" | "body"> & { query: unknown; body: unknown };

/**
 * Validates a request by its operation. Throws ApiError: invalid_request, invalid_json, unsupported_media_type, and the
 * reader's errors. An image is not read here: its handler first uses a token of the caller's rate limit.
 */
export async function readCall(
  operation: Operation,
  request: Request,
  caller: Caller,
  path: (name: string) => string,
  readBody: BodyReader,
): Promise<AnyCall> {
  const url = new URL(request.url);
  const query = readQuery(url, operation.query ?? noFields);
  const body = await bodyOf(operation, request, readBody);
  return {
    caller,
    path,
    query,
    body,
    idempotency: await idempotencyOf(operation, request, url.pathname, body),
    headers: request.headers,
    // A getter is used, because the runtime creates the signal, and an error to abort it with, only when it is read.
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

async function idempotencyOf(
  operation: Operation,
  request: Request,
  path: string,
  body: unknown,
): Promise<Idempotency> {
  const key = takesKey(operation) ? readKey(request.headers) : undefined;
  if (key === undefined) return {};
  if (operation.body === "image") return { idempotency_key: key };
  return { idempotency_key: key, request_hash: await hashRequest(request.method, path, body) };
}

/** supabase-js adds this parameter when a region is set. It is meant for the platform, which does not remove it. */
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
  if (repeated.size > 0) throw invalidFields([...repeated].map((path) => ({ path, message: "Must appear once." })));
  const parsed = schema.safeParse(Object.fromEntries(given), { error: issueSentence });
  if (!parsed.success) throw invalidRequest(parsed.error, schema);
  return parsed.data;
}

/** Arguments of a repeatable SQL function. Without a key, both are absent. The hash is absent until an upload has been read. */
export type Idempotency = { idempotency_key?: string; request_hash?: string };

/** The header Idempotency-Key; undefined without one. Throws invalid_request. */
function readKey(headers: Headers): string | undefined {
  const key = headers.get("idempotency-key");
  if (key === null) return undefined;
  const { error } = visibleAscii.safeParse(key);
  if (error) throw invalidFields(error.issues.map(({ message }) => ({ path: "Idempotency-Key", message })));
  return key;
}

/**
 * The hash of the request that a key belongs to: method, path and body. `body` is the parsed JSON (so the order of fields and white
 * space do not matter) or the bytes of a file.
 */
export async function hashRequest(method: string, path: string, body: unknown): Promise<string> {
  const content = body instanceof Uint8Array ? await sha256(body) : canonicalJson(body);
  return await sha256(`${method} ${path}\n${content}`);
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
