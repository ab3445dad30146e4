import { Buffer } from "node:buffer";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import type { LookupFunction } from "node:net";
import { answerExcerpt } from "./answer-excerpt.ts";
import { type AgentSettings, createAgents } from "./create-agents.ts";
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

/** Sends one POST. Never rejects for what the other side does. The URL has passed checkUrl. */
export type Post = (url: URL, headers: Record<string, string>, body: string) => Promise<Posted>;

export type PostSettings = AgentSettings & { lookup: LookupFunction; patienceMs?: number };

/** No redirect is followed and no proxy is asked: the connection goes to an address that `lookup` gave, and nowhere else. */
export function createPost({ lookup, patienceMs = PATIENCE_MS, ...agentSettings }: PostSettings): Post {
  const agents = createAgents(agentSettings);

  return (url, headers, body) =>
    new Promise((resolve) => {
      const isSecure = url.protocol === "https:";
      const request = (isSecure ? https : http).request(url, {
        method: "POST",
        agent: agents[isSecure ? "https:" : "http:"],
        lookup,
        headers: { ...headers, "content-length": Buffer.byteLength(body) },
      });
      let answer: IncomingMessage | null = null;
      const beginning: Uint8Array[] = [];
      let bytes = 0;
      let ended = false;

      /** The first call settles. An answer that has begun counts, whatever ended it. */
      function end(error: unknown): void {
        if (ended) return;
        ended = true;
        clearTimeout(timer);
        // After a complete answer the connection is back at the agent, and this does nothing to it.
        if (!answer?.complete) request.destroy();
        const statusCode = answer?.statusCode ?? null;
        resolve({
          statusCode,
          error: statusCode === null ? classifyError(error) : classifyStatus(statusCode),
          excerpt: answer && answerExcerpt(Buffer.concat(beginning)),
          retryAfter: answer?.headers["retry-after"],
        });
      }

      const timer = setTimeout(() => end(new SendError("timeout", "No answer in time.")), patienceMs);
      request.on("response", (incoming) => {
        answer = incoming;
        incoming.on("data", (chunk: Uint8Array) => {
          if (bytes < EXCERPT_BYTES) beginning.push(chunk.subarray(0, EXCERPT_BYTES - bytes));
          bytes += chunk.byteLength;
          if (bytes > MOST_ANSWER_BYTES) end(null);
        });
        incoming.on("end", () => end(null));
        incoming.on("error", end);
      });
      // Without a listener the rest of the errors, those after the end included, would end the process.
      request.on("error", end);
      // Whatever else ends a request, such as an answer 101 that nobody asked for.
      request.on("close", () => end(new SendError("connection", "The connection was closed without an answer.")));
      request.end(body);
    });
}

function classifyStatus(status: number): ErrorClass | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? "redirect" : "http_status";
}
