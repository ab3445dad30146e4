import { Buffer } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import type { ErrorClass } from "../deliveries/database.ts";
import { type Connection, type ConnectionSettings, createConnections } from "./create-connections.ts";
import { answerExcerpt, EXCERPT_BYTES } from "./excerpt.ts";
import { classifyError, SendError } from "./send-error.ts";

/** Limits the whole request: name resolution, connection, handshake, sending and response. */
export const REQUEST_TIMEOUT_MS = 15_000;

/** How much of a response is read before its connection is closed. */
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * The result of a request. Without a response, statusCode and excerpt are null. `error` is null for a 2xx, even if its body ended early.
 */
export type Posted = {
  statusCode: number | null;
  error: ErrorClass | null;
  excerpt: string | null;
  /** The value of the Retry-After header. */
  retryAfter: string | undefined;
};

/** Sends one POST, once. Never rejects. The URL has passed checkUrl. */
export type Post = (url: URL, headers: Record<string, string>, body: string) => Promise<Posted>;

export type PostSettings = ConnectionSettings & { timeoutMs?: number };

type Answer = { statusCode: number; retryAfter: string | undefined };

/** Follows no redirect and uses no proxy, so it connects only to the addresses of `lookup`. */
export function createPost({ timeoutMs = REQUEST_TIMEOUT_MS, ...connectionSettings }: PostSettings): Post {
  const connect = createConnections(connectionSettings);

  return (url, headers, body) =>
    new Promise((resolve) => {
      let connection: Connection | null = null;
      let answer: Answer | null = null;
      const beginning: Uint8Array[] = [];
      let bytes = 0;
      let ended = false;

      /** Only the first call settles. A response that has begun counts, however it ended. Only a complete one keeps its connection. */
      function end(error: unknown, isComplete = false): void {
        if (ended) return;
        ended = true;
        clearTimeout(timer);
        if (isComplete) connection?.release();
        else connection?.destroy();
        const statusCode = answer?.statusCode ?? null;
        resolve({
          statusCode,
          error: statusCode === null ? classifyError(error) : classifyStatus(statusCode),
          excerpt: answer && answerExcerpt(Buffer.concat(beginning).subarray(0, EXCERPT_BYTES)),
          retryAfter: answer?.retryAfter,
        });
      }

      const timer = setTimeout(() => end(new SendError("timeout", "No answer in time.")), timeoutMs);
      try {
        connection = connect(url.origin);
        connection.client.dispatch(
          { method: "POST", path: url.pathname + url.search, headers, body },
          {
            // Selects undici's new handler API.
            onRequestStart() {},
            onResponseStart(
              _controller: unknown,
              statusCode: number,
              { "retry-after": retryAfter }: IncomingHttpHeaders,
            ) {
              answer = { statusCode, retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter };
            },
            onResponseData(_controller: unknown, chunk: Uint8Array) {
              if (bytes < EXCERPT_BYTES) beginning.push(chunk);
              bytes += chunk.byteLength;
              if (bytes > MAX_ANSWER_BYTES) end(null);
            },
            onResponseEnd: () => end(null, true),
            onResponseError: (_controller: unknown, error: Error) => end(error),
          },
        );
      } catch (error) {
        end(error);
      }
    });
}

function classifyStatus(status: number): ErrorClass | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? "redirect" : "http_status";
}
