import { checkKey, randomKey } from "./idempotency-key.ts";
import { type Answer, readRetryAfter } from "./read-answer.ts";
import { send } from "./retry.ts";
import { mustBeStep, ROUTES } from "./routes.ts";
import { type Call, sendOnce } from "./send-once.ts";
import type { Settings } from "./settings.ts";
import type { AnswerOf, OperationId, Project, Step } from "./types.ts";

/** An aborted call rejects with the signal's reason. */
export type CallOptions = { signal?: AbortSignal | undefined };

/** For a POST. Without an idempotencyKey the client makes one, and its retries send the same one. */
export type StartOptions = CallOptions & { idempotencyKey?: string | undefined };

export type ChangeOptions = CallOptions & {
  /**
   * The project, film or element as it was read. The call fails with `precondition_failed` if it has changed, even if an earlier attempt of
   * this call changed it and the answer was lost.
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

type Input = StartOptions &
  ChangeOptions & {
    query?: Record<string, string | number | undefined>;
    json?: unknown;
    bytes?: Blob | Uint8Array<ArrayBuffer> | ArrayBuffer;
    headers?: Record<string, string>;
    limitMs?: number;
  };

/** `waited`: the service honoured `Prefer: wait`. */
export type Outcome<Data> = { data: Data; etag: string | null; retryAfterSeconds: number | null; waited: boolean };

export type Api = ReturnType<typeof createApi>;

/**
 * Calls operations of the contract. A value that cannot be put into a path or a header is a TypeError. The types of answers are not
 * checked here: tests check every answer of the service against the contract.
 */
export function createApi(settings: Settings) {
  const outcomeOf = <Data>({ data, headers }: Answer): Outcome<Data> => ({
    data: data as Data,
    etag: headers.get("etag"),
    retryAfterSeconds: readRetryAfter(headers, settings.clock.now()),
    waited: headers.has("preference-applied"),
  });

  /** Calls an operation with retries. */
  async function operate<Id extends OperationId>(
    id: Id,
    path: PathOf<Id>,
    input: Input,
  ): Promise<Outcome<AnswerOf<Id>>> {
    return outcomeOf(await send(requestOf(id, path, input, settings), settings));
  }

  /** Calls an operation without retries. `data` is undefined when the ETag that was sent is still current. */
  async function operateOnce<Id extends OperationId>(
    id: Id,
    path: PathOf<Id>,
    input: Input,
  ): Promise<Outcome<AnswerOf<Id> | undefined>> {
    return outcomeOf(await sendOnce(requestOf(id, path, input, settings), settings));
  }

  /** Calls an operation with retries, and returns only `data`. */
  async function call<Id extends OperationId>(id: Id, path: PathOf<Id>, input: Input): Promise<AnswerOf<Id>> {
    return (await operate(id, path, input)).data;
  }

  return { settings, operate, operateOnce, call };
}

function requestOf<Id extends OperationId>(
  id: Id,
  path: PathOf<Id>,
  input: Input,
  { requestTimeoutMs }: Settings,
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

function fill(at: string, path: Record<string, string>): string {
  return at.replace(/:(\w+)/g, (_, name: string) => {
    const value = path[name] ?? "";
    if (name === "step") return mustBeStep(path.step as Step);
    // URLs resolve dots to a parent path, which would be another operation.
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name} must be an id.`);
    return encodeURIComponent(value);
  });
}

function queryOf(query: Record<string, string | number | undefined>): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

/** Iterates over every row of a list, reading one page at a time. */
export async function* eachRow<
  Page extends { nextCursor: string | null },
  Row,
  Query extends { cursor?: string | undefined },
>(
  readPage: (query: Query, options: CallOptions) => Promise<Page>,
  rowsOf: (page: Page) => Row[],
  query: Query,
  options: CallOptions,
): AsyncGenerator<Row, void, undefined> {
  for (let at = query; ; ) {
    const page = await readPage(at, options);
    yield* rowsOf(page);
    if (page.nextCursor === null) return;
    at = { ...query, cursor: page.nextCursor };
  }
}
