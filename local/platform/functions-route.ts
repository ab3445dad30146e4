import { within } from "../within.ts";
import { log } from "./log.ts";

/** As hosted: a function must begin to answer within 150 s. */
const ANSWER_MS = 150_000;

/**
 * Headers of one connection, which are never passed on. The runtime sets `transfer-encoding` and `content-length` itself.
 */
const OF_ONE_CONNECTION: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "upgrade",
  "host",
  "transfer-encoding",
]);

const refuse = (status: number, code: string, message: string) =>
  Response.json({ code, message }, { status, headers: { "sb-error-code": code } });

/** A request body up to this size is passed on in one piece, in half the time of a stream. */
const SMALL_BYTES = 64 * 1024;

/** A small body that has not arrived by then is streamed: the function decides how long a body may stall. */
const GRACE_MS = 50;

async function inOnePiece(request: Request): Promise<Blob | ReadableStream<Uint8Array> | null> {
  const length = Number(request.headers.get("content-length") ?? Number.POSITIVE_INFINITY);
  if (request.body === null || !(length > 0 && length <= SMALL_BYTES)) return request.body;
  const reader = request.body.getReader();
  const first = reader.read();
  const come = await within(first, GRACE_MS, () => undefined);
  // A Blob, because fetch never sends one twice.
  if (come?.value?.byteLength === length) return new Blob([come.value]);
  let next: typeof first | undefined = first;
  return new ReadableStream({
    async pull(controller) {
      const { value } = await (next ?? reader.read());
      next = undefined;
      if (value === undefined) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Headers the gateway sets itself, whatever the client sends. */
function ourOwnHeaders(publicUrl: string): ReadonlyMap<string, string> {
  const { hostname, port, protocol } = new URL(publicUrl);
  return new Map([
    ["x-forwarded-host", hostname],
    ["x-forwarded-port", port || (protocol === "https:" ? "443" : "80")],
    ["x-forwarded-proto", protocol.slice(0, -1)],
    // Otherwise fetch asks for a compressed response and decompresses it, but keeps the headers of the compressed one.
    ["accept-encoding", "identity"],
  ]);
}

function headersToPassOn(request: Request, ourOwn: ReadonlyMap<string, string>): [string, string][] {
  const passed: [string, string][] = [...ourOwn];
  for (const [name, value] of request.headers)
    if (!OF_ONE_CONNECTION.has(name) && !ourOwn.has(name)) passed.push([name, value]);
  return passed;
}

/** The unchanged response, which the runtime passes on fastest, or a copy without the headers of one connection. */
function withoutConnection(response: Response): Response {
  if (![...OF_ONE_CONNECTION].some((name) => response.headers.has(name))) return response;
  const headers = [...response.headers].filter(([name]) => !OF_ONE_CONNECTION.has(name));
  return new Response(response.body, { status: response.status, headers });
}

/** Answers one request below /functions/v1. */
type FunctionsRoute = (request: Request, url: URL) => Promise<Response>;

/**
 * Passes `/functions/v1/<name>/…` on to the function's own port as `/<name>/…`, as hosted. Bodies are streamed both ways,
 * redirects go to the client, and when the client disconnects the function's request ends too.
 *
 * @param functions name → address, e.g. `{ api: "http://127.0.0.1:9001" }`
 */
export function createFunctionsRoute(functions: Record<string, string>, publicUrl: string): FunctionsRoute {
  const ourOwn = ourOwnHeaders(publicUrl);
  return async (request, url) => {
    const path = url.pathname.slice("/functions/v1".length);
    const name = path.split("/")[1] ?? "";
    const base = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (base === undefined) return refuse(404, "NOT_FOUND", "Requested function was not found");

    // Not AbortSignal.any: it takes as long as the rest of this function.
    const ended = new AbortController();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      ended.abort();
    }, ANSWER_MS);
    request.signal.addEventListener("abort", () => ended.abort());
    try {
      const response = await fetch(base + path + url.search, {
        method: request.method,
        headers: headersToPassOn(request, ourOwn),
        body: await inOnePiece(request),
        redirect: "manual",
        signal: ended.signal,
      });
      return withoutConnection(response);
    } catch (error) {
      if (isLate) return refuse(504, "IDLE_TIMEOUT", "The function did not answer in time");
      // The client has disconnected.
      if (request.signal.aborted) return new Response(null, { status: 499 });
      log("warn", "function does not answer", { function: name, error: String(error) });
      return refuse(503, "BOOT_ERROR", "Function failed to start (please check logs)");
    } finally {
      clearTimeout(timer);
    }
  };
}
