import { type Answer, readRetryAfter } from "./read-answer.ts";
import { send } from "./retry.ts";
import { ROUTES } from "./routes.ts";
import type { Call } from "./send-once.ts";
import type { Settings } from "./settings.ts";
import type { AnswerOf, OperationId, Project } from "./types.ts";

/** An aborted call rejects with the signal's reason. */
export type CallOptions = { signal?: AbortSignal | undefined };

/** For a POST. Without a key the client makes one; its retries send the same key. */
export type StartOptions = CallOptions & { idempotencyKey?: string | undefined };

export type ChangeOptions = CallOptions & {
  /**
   * The project, film or element as it was read. The call fails with `precondition_failed` when it has changed, also when an
   * earlier attempt of this call, whose answer was lost, has changed it.
   */
  unchangedSince?: Pick<Project, "updatedAt"> | undefined;
};

/** The parameters of a path: `projectId` of /projects/:projectId. */
type ParametersOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParametersOf<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type PathOf<Id extends OperationId> = Record<ParametersOf<(typeof ROUTES)[Id][1]>, string>;

export type Input = StartOptions &
  ChangeOptions & {
    query?: Record<string, string | number | undefined>;
    json?: unknown;
    bytes?: Blob | Uint8Array<ArrayBuffer> | ArrayBuffer;
    headers?: Record<string, string>;
    limitMs?: number;
  };

/** `waited`: the service honoured `Prefer: wait`. */
export type Outcome<Data> = { data: Data; etag: string | null; retryAfterSeconds: number | null; waited: boolean };

/** Throws a TypeError for a value that cannot be put into a path or a header. */
export function requestOf<Id extends OperationId>(
  id: Id,
  path: PathOf<Id>,
  input: Input,
  { randomKey, requestTimeoutMs }: Settings,
): Call {
  const [method, at] = ROUTES[id];
  const { json, bytes, unchangedSince, signal } = input;
  const { token } = path as Record<string, string | undefined>; // only for paths that need no session
  const headers = { ...input.headers };
  if (json !== undefined) headers["content-type"] = "application/json";
  if (bytes !== undefined) headers["content-type"] = "application/octet-stream";
  if (unchangedSince !== undefined) headers["if-match"] = `"${unchangedSince.updatedAt}"`;
  if (method === "POST") headers["idempotency-key"] = checkKey(input.idempotencyKey ?? randomKey());
  const body = json === undefined ? bytes : JSON.stringify(json);
  return {
    method,
    path: fill(at, path) + queryOf(input.query ?? {}),
    headers,
    ...(body === undefined ? {} : { body }),
    ...(token === undefined ? {} : { pathToken: token }),
    limitMs: input.limitMs ?? requestTimeoutMs,
    signal,
  };
}

/** Calls one operation of the contract, with retries. */
export async function operate<Id extends OperationId>(
  id: Id,
  path: PathOf<Id>,
  input: Input,
  settings: Settings,
): Promise<Outcome<AnswerOf<Id>>> {
  return outcomeOf(await send(requestOf(id, path, input, settings), settings), settings);
}

/** Only its answer. */
export const call = async <Id extends OperationId>(
  id: Id,
  path: PathOf<Id>,
  input: Input,
  settings: Settings,
): Promise<AnswerOf<Id>> => (await operate(id, path, input, settings)).data;

/** The cast is safe: tests check every answer of the service against the contract. */
export function outcomeOf<Data>({ data, headers }: Answer, { clock }: Settings): Outcome<Data> {
  return {
    data: data as Data,
    etag: headers.get("etag"),
    retryAfterSeconds: readRetryAfter(headers, clock.now()),
    waited: headers.has("preference-applied"),
  };
}

function fill(at: string, path: Record<string, string>): string {
  return at.replace(/:(\w+)/g, (_, name: string) => {
    const value = path[name] ?? "";
    // URLs resolve dots to a parent path, which would be another operation.
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name} must be an id.`);
    return encodeURIComponent(value);
  });
}

function queryOf(query: Record<string, string | number | undefined>): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

function checkKey(key: string): string {
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new TypeError("idempotencyKey must have 1 to 255 visible ASCII characters.");
}

/** Iterates over every row of a list, reading one page at a time; `rows` is the field of a page. */
export async function* eachRow<Rows extends string, Row, Query extends { cursor?: string | undefined }>(
  readPage: (
    query: Query,
    options: CallOptions,
  ) => Promise<{ nextCursor: string | null } & { [Name in NoInfer<Rows>]: Row[] }>,
  rows: Rows,
  query: Query,
  options: CallOptions,
): AsyncGenerator<Row, void, undefined> {
  for (let at = query; ; ) {
    const page = await readPage(at, options);
    yield* page[rows];
    if (page.nextCursor === null) return;
    at = { ...query, cursor: page.nextCursor };
  }
}
