import { log } from "./log.ts";

/** Seconds are the hosted platform's: a function must begin to answer within 150. */
const ANSWER_MS = 150_000;

/** Headers that belong to one connection and are never passed on. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "upgrade",
  "host",
];
// `transfer-encoding` and `content-length` are the runtime's affair: it frames each side itself.
const FRAMING = ["transfer-encoding"];

const refuse = (status: number, code: string, message: string) =>
  Response.json({ code, message }, { status, headers: { "sb-error-code": code } });

/** Up to this size a body is passed on in one piece, which takes half the time of streaming it. */
const SMALL_BYTES = 64 * 1024;

async function inOnePiece(message: Request | Response): Promise<Blob | ReadableStream<Uint8Array> | null> {
  const length = Number(message.headers.get("content-length") ?? Number.POSITIVE_INFINITY);
  // A blob, so that fetch cannot send a request a second time by itself.
  return length > 0 && length <= SMALL_BYTES ? new Blob([await message.arrayBuffer()]) : message.body;
}

/**
 * Passes `/functions/v1/<name>/…` on to the function's own port, which sees `/<name>/…` as it does hosted. Bodies are
 * streamed both ways, redirects are handed to the client, and a client that leaves ends the function's request too.
 *
 * @param functions name → address, e.g. `{ api: "http://127.0.0.1:9001" }`
 */
export async function callFunction(
  request: Request,
  url: URL,
  functions: Record<string, string>,
  publicUrl: string,
): Promise<Response> {
  const path = url.pathname.slice("/functions/v1".length);
  const name = path.split("/")[1] ?? "";
  const base = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (base === undefined) return refuse(404, "NOT_FOUND", "Requested function was not found");

  const headers = new Headers(request.headers);
  for (const header of [...HOP_BY_HOP, ...FRAMING]) headers.delete(header);
  const origin = new URL(publicUrl);
  headers.set("x-forwarded-host", origin.hostname);
  headers.set("x-forwarded-port", origin.port || (origin.protocol === "https:" ? "443" : "80"));
  headers.set("x-forwarded-proto", origin.protocol.slice(0, -1));
  // Or fetch would ask for a packed answer, unpack it and leave the headers of the packed one.
  headers.set("accept-encoding", "identity");

  const slow = new AbortController();
  const timer = setTimeout(() => slow.abort(), ANSWER_MS);
  try {
    const response = await fetch(base + path + url.search, {
      method: request.method,
      headers,
      body: await inOnePiece(request),
      redirect: "manual",
      signal: AbortSignal.any([request.signal, slow.signal]),
    });
    const answer = new Headers(response.headers);
    for (const header of [...HOP_BY_HOP, ...FRAMING]) answer.delete(header);
    return new Response(await inOnePiece(response), { status: response.status, headers: answer });
  } catch (error) {
    if (slow.signal.aborted) return refuse(504, "IDLE_TIMEOUT", "The function did not answer in time");
    // The client has left; nobody reads this.
    if (request.signal.aborted) return new Response(null, { status: 499 });
    log("warn", "function does not answer", { function: name, error: String(error) });
    return refuse(503, "BOOT_ERROR", "Function failed to start (please check logs)");
  } finally {
    clearTimeout(timer);
  }
}
