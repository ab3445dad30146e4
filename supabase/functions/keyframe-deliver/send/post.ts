import { type Connection, type ConnectionSettings, createConnections } from "./create-connections.ts";
import { createDeadline } from "./deadline.ts";
import { classifyError, type ErrorClass, SendError } from "./send-error.ts";

/** For the whole request: name, connection, handshake, sending and answer. */
const PATIENCE_MS = 15_000;

/** How much of an answer is read before its connection is closed. */
const MOST_ANSWER_BYTES = 64 * 1024;
const EXCERPT_BYTES = 1024;

/** What came of a request. Without an answer statusCode and excerpt are null. `error` is null for a 2xx, however its body ended. */
export type Posted = {
  statusCode: number | null;
  error: ErrorClass | null;
  excerpt: string | null;
  /** The Retry-After header as it came. */
  retryAfter: string | undefined;
};

/** Sends one POST, once. Never rejects. The URL has passed checkUrl. */
export type Post = (url: URL, headers: Record<string, string>, body: string) => Promise<Posted>;

export type PostSettings = ConnectionSettings & { patienceMs?: number };

type Answer = { statusCode: number; retryAfter: string | undefined };

/** No redirect is followed and no proxy is asked: the connection goes to an address that `lookup` gave, and nowhere else. */
export function createPost({ patienceMs = PATIENCE_MS, ...connectionSettings }: PostSettings): Post {
  const connect = createConnections(connectionSettings);
  const within = createDeadline(patienceMs);

  return (url, headers, body) =>
    new Promise((resolve) => {
      let connection: Connection | null = null;
      let answer: Answer | null = null;
      const beginning: Uint8Array[] = [];
      let bytes = 0;
      let ended = false;

      /** The first call settles. An answer that has begun counts, whatever ended it; only a complete one spares its connection. */
      function end(error: unknown, isComplete = false): void {
        if (ended) return;
        ended = true;
        cancel();
        if (isComplete) connection?.release();
        else connection?.destroy();
        const statusCode = answer?.statusCode ?? null;
        resolve({
          statusCode,
          error: statusCode === null ? classifyError(error) : classifyStatus(statusCode),
          excerpt: answer && answerExcerpt(beginning),
          retryAfter: answer?.retryAfter,
        });
      }

      const cancel = within(() => end(new SendError("timeout", "No answer in time.")));
      try {
        connection = connect(url.origin);
        connection.client.dispatch(
          { method: "POST", path: url.pathname + url.search, headers, body },
          {
            // Its being there tells undici in which form to report.
            onRequestStart() {},
            onResponseStart(_controller, statusCode, { "retry-after": retryAfter }) {
              answer = { statusCode, retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter };
            },
            onResponseData(_controller, chunk) {
              if (bytes < EXCERPT_BYTES) beginning.push(chunk.subarray(0, EXCERPT_BYTES - bytes));
              bytes += chunk.byteLength;
              if (bytes > MOST_ANSWER_BYTES) end(null);
            },
            onResponseEnd: () => end(null, true),
            onResponseError: (_controller, error) => end(error),
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

const encoder = new TextEncoder();
const room = new Uint8Array(1024);

/**
 * The beginning of an answer, given in pieces, as text that a row can hold: valid UTF-8 of at most 1 KiB, whole characters, and
 * no NUL, which Postgres refuses. Bytes that are not UTF-8 become U+FFFD.
 */
export function answerExcerpt(pieces: Uint8Array[]): string {
  if (pieces.length === 0) return "";
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  // Decoded as a stream, a character cut in two at the end is left out and not replaced.
  const text = pieces
    .map((piece) => decoder.decode(piece, { stream: true }))
    .join("")
    .replaceAll("\0", "");
  const { read } = encoder.encodeInto(text, room);
  return text.slice(0, read);
}
