import { Agent as HttpAgent, type ClientRequest, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { z } from "zod";

/** libcurl's own limit since 8.3. */
const MAX_REDIRECTS = 30;
/** libcurl keeps four connections for each request of a batch; our batches seldom have more than one. */
const KEPT = { keepAlive: true, maxFreeSockets: 4 };
const agents = { "http:": new HttpAgent(KEPT), "https:": new HttpsAgent(KEPT) };

export type Transfer = {
  method: string;
  url: string;
  /** Without empty values. Null when the caller passed no headers. */
  headers: Record<string, string> | null;
  body: Uint8Array | null;
  /** For the whole transfer with its redirects; 0 or less means none. */
  timeoutMs: number;
};

/** The columns of net._http_response. */
export type Outcome = {
  status_code: number | null;
  content_type: string | null;
  headers: Record<string, string> | null;
  content: string | null;
  timed_out: boolean;
  error_msg: string | null;
};

type Answer = { status: number; headers: Record<string, string>; content: string };

/**
 * Sends one request as pg_net's libcurl does and returns its response row, also for a failure. Throws only when `abandon` is
 * aborted.
 */
export async function httpTransfer(transfer: Transfer, abandon: AbortSignal): Promise<Outcome> {
  const moments: Moments = { begun: performance.now() };
  const timeout = transfer.timeoutMs > 0 ? AbortSignal.timeout(transfer.timeoutMs) : undefined;
  try {
    const answer = await followed(transfer, timeout ? AbortSignal.any([abandon, timeout]) : abandon, moments);
    const contentType = Object.entries(answer.headers).find(([name]) => name.toLowerCase() === "content-type");
    return {
      status_code: answer.status,
      content_type: contentType?.[1] ?? null,
      headers: answer.headers,
      content: answer.content === "" ? null : answer.content,
      timed_out: false,
      error_msg: null,
    };
  } catch (error) {
    abandon.throwIfAborted();
    const none = { status_code: null, content_type: null, headers: null, content: null };
    if (!timeout?.aborted) return { ...none, timed_out: false, error_msg: transferError(error) };
    return { ...none, timed_out: true, error_msg: timeoutError(transfer.timeoutMs, moments, performance.now()) };
  }
}

/** As libcurl: a redirected POST becomes a GET (307 and 308 repeat it), and custom headers are sent to every target. */
async function followed(transfer: Transfer, signal: AbortSignal, moments: Moments): Promise<Answer> {
  let { method, body } = transfer;
  let url = new URL(transfer.url);
  const headers = defaultHeaders(transfer);
  for (let redirects = 0; ; redirects++) {
    const answer = await exchange({ method, url, headers, body, signal, moments });
    const location = Object.entries(answer.headers).find(([name]) => name.toLowerCase() === "location")?.[1];
    if (![301, 302, 303, 307, 308].includes(answer.status) || !location) return answer;
    if (redirects === MAX_REDIRECTS) throw new TransferError("Number of redirects hit maximum amount");
    const next = new URL(location, url);
    if (answer.status < 307) {
      method = method === "POST" ? "GET" : method;
      body = null;
    }
    if (next.origin !== url.origin) {
      headers.delete("authorization");
      headers.delete("cookie");
    }
    url = next;
  }
}

function defaultHeaders({ method, headers }: Transfer): Map<string, [name: string, value: string]> {
  const all = new Map<string, [string, string]>([
    ["accept", ["Accept", "*/*"]],
    ["user-agent", ["User-Agent", "pg_net/0.20"]],
  ]);
  if (headers === null && method === "POST") {
    all.set("content-type", ["Content-Type", "application/x-www-form-urlencoded"]);
  }
  for (const [name, value] of Object.entries(headers ?? {})) all.set(name.toLowerCase(), [name, value]);
  return all;
}

type Exchange = Pick<Transfer, "method" | "body"> & {
  url: URL;
  headers: Map<string, [string, string]>;
  signal: AbortSignal;
  moments: Moments;
};

function exchange({ method, url, headers, body, signal, moments }: Exchange): Promise<Answer> {
  signal.throwIfAborted();
  const { protocol } = url;
  if (protocol !== "http:" && protocol !== "https:") throw new TransferError("Unsupported protocol");
  const send = protocol === "https:" ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const request = send(url, { method, headers: Object.fromEntries(headers.values()), agent: agents[protocol] });
    // Deno, like libcurl, repeats a request when a reused connection closes without a response, even when we close it and `signal`
    // is aborted. With reusedSocket false it does not.
    const abort = () => {
      reject(signal.reason);
      request.reusedSocket = false;
      request.destroy();
    };
    signal.addEventListener("abort", abort);
    request.on("close", () => signal.removeEventListener("abort", abort));
    noteMoments(request, protocol, moments);
    request.on("error", reject);
    request.on("response", (response) => {
      const chunks: Uint8Array[] = [];
      const cut = () => reject(new TransferError("Transferred a partial file"));
      response.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      response.on("error", cut);
      response.on("aborted", cut);
      response.on("end", () => {
        if (!response.complete) return cut();
        resolve({ status: response.statusCode ?? 0, headers: lastOfEach(response.rawHeaders), content: text(chunks) });
      });
    });
    if (body !== null && !headers.has("content-length")) request.setHeader("Content-Length", body.byteLength);
    request.end(body ?? undefined);
  });
}

function noteMoments(request: ClientRequest, protocol: "http:" | "https:", moments: Moments): void {
  request.on("socket", (socket) => {
    const resolved = () => (moments.resolved ??= performance.now());
    const connected = () => {
      resolved();
      moments.connected ??= performance.now();
    };
    if (!socket.connecting) return connected();
    socket.once("lookup", resolved);
    socket.once("connect", resolved);
    socket.once(protocol === "https:" ? "secureConnect" : "connect", connected);
  });
}

function lastOfEach(rawHeaders: string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) headers[rawHeaders[i] ?? ""] = rawHeaders[i + 1] ?? "";
  return headers;
}

/** Up to the first NUL, as in the extension: text in Postgres cannot contain one. */
function text(chunks: Uint8Array[]): string {
  const decoder = new TextDecoder();
  const whole = chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
  const end = whole.indexOf("\0");
  return end < 0 ? whole : whole.slice(0, end);
}

const failure = z.object({ code: z.string().catch(""), message: z.string().catch("") });

/** libcurl's message for a failed transfer (curl_easy_strerror), as pg_net stores it in error_msg. */
export function transferError(error: unknown): string {
  if (error instanceof TransferError) return error.message;
  const { code, message } = failure.parse(error);
  if (["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"].includes(code)) return "Couldn't connect to server";
  if (["ENOTFOUND", "EAI_AGAIN", "EAI_NODATA"].includes(code)) return "Couldn't resolve host name";
  if (message === "socket hang up") return "Server returned nothing (no headers, no data)";
  if (code === "EPIPE") return "Failed sending data to the peer";
  // libcurl reads a response that is not HTTP/1 as HTTP/0.9, which it refuses.
  if (code.startsWith("HPE_")) return "Unsupported protocol";
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/i.test(`${code} ${message}`)) {
    return "SSL peer certificate or SSH remote key was not OK";
  }
  if (/EPROTO|ERR_SSL|TLS|InvalidContentType/i.test(`${code} ${message}`)) return "SSL connect error";
  return "Failure when receiving data from the peer";
}

/** A failure with libcurl's own message. */
class TransferError extends Error {}

/** When each part of a transfer was done, by performance.now(); undefined when it was not reached. */
type Moments = { begun: number; resolved?: number; connected?: number };

/** pg_net's message for a timeout (detailed_timeout_strerror), with the time of each part. */
function timeoutError(timeoutMs: number, { begun, resolved, connected }: Moments, now: number): string {
  const dns = (resolved ?? now) - begun;
  const handshake = resolved === undefined ? 0 : (connected ?? now) - resolved;
  const http = connected === undefined ? 0 : now - connected;
  const [total, ...parts] = [now - begun, dns, handshake, http].map((ms) => `${ms.toFixed(6)} ms`);
  return (
    `Timeout of ${timeoutMs} ms reached. Total time: ${total} ` +
    `(DNS time: ${parts[0]}, TCP/SSL handshake time: ${parts[1]}, HTTP Request/Response time: ${parts[2]})`
  );
}
