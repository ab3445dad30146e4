import { Agent as HttpAgent, type ClientRequest, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { type Moments, timeoutError, TransferError, transferError } from "./transfer-error.ts";

/** libcurl's own limit since 8.3. */
const MOST_REDIRECTS = 30;
/** libcurl keeps four connections for each request of a batch; a batch of ours is seldom more than one. */
const KEPT = { keepAlive: true, maxFreeSockets: 4 };
const agents = { "http:": new HttpAgent(KEPT), "https:": new HttpsAgent(KEPT) };

export type Transfer = {
  method: string;
  url: string;
  /** Without empty values. Null: no header at all was given. */
  headers: Record<string, string> | null;
  body: Uint8Array | null;
  /** Of the whole transfer, redirects included; 0 or less: none. */
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
 * Sends one request the way pg_net's libcurl does and returns its response row; a failure is a row, too. It throws only
 * when `abandon` is aborted.
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

/** As libcurl: a redirected POST turns into a GET (307 and 308 repeat it), custom headers go along wherever it leads. */
async function followed(transfer: Transfer, signal: AbortSignal, moments: Moments): Promise<Answer> {
  let { method, body } = transfer;
  let url = new URL(transfer.url);
  const headers = defaultHeaders(transfer);
  for (let redirects = 0; ; redirects++) {
    const answer = await exchange({ method, url, headers, body, signal, moments });
    const location = Object.entries(answer.headers).find(([name]) => name.toLowerCase() === "location")?.[1];
    if (![301, 302, 303, 307, 308].includes(answer.status) || !location) return answer;
    if (redirects === MOST_REDIRECTS) throw new TransferError("Number of redirects hit maximum amount");
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
    // As libcurl, Deno sends a request again when its kept connection ends unanswered. It takes its own end of that connection for
    // one, too, unless told that the connection is fresh; and it does not look at `signal` then.
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

/** Up to the first NUL, as in the extension: Postgres's text cannot hold one. */
function text(chunks: Uint8Array[]): string {
  const decoder = new TextDecoder();
  const whole = chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
  const end = whole.indexOf("\0");
  return end < 0 ? whole : whole.slice(0, end);
}
