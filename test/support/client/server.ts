import { Buffer } from "node:buffer";
import { createServer, type ServerResponse } from "node:http";
import { afterAll } from "vitest";
import { type KeyframeOptions, createKeyframeClient } from "../../../client/index.ts";
import type { Prediction } from "../../../shared/contract/predictions.ts";
import { SAMPLE_PREDICTION } from "../../../shared/contract/samples.ts";
import { makeClientClock } from "./clock.ts";

/** A request as it came; `at` by the client's clock. */
type Seen = { method: string; url: string; headers: Record<string, string>; body: Uint8Array; at: number };

/** One turn of the script: what is answered, or a function that answers itself (or does not). */
export type Turn =
  | { status?: number; headers?: Record<string, string>; data?: unknown; error?: unknown; text?: string }
  | ((response: ServerResponse, request: Seen) => void);

/** A real server on loopback that answers as it is told, turn by turn, and a client of it that needs no time. For one test file. */
export async function useScriptedServer() {
  const time = makeClientClock();
  const seen: Seen[] = [];
  let script: Turn[] = [];
  const server = createServer((request, response) => {
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    request.on("end", () => {
      const headers: Record<string, string> = {};
      for (const [name, value] of Object.entries(request.headers)) headers[name] = String(value);
      const { method = "", url = "" } = request;
      const one = { method, url, headers, body: new Uint8Array(Buffer.concat(chunks)), at: time.clock.now() };
      seen.push(one);
      // Kept open, a connection that is cut is one that the runtime tries again by itself.
      response.setHeader("connection", "close");
      const turn = script.shift() ?? { status: 500, text: "The script is over." };
      if (typeof turn === "function") turn(response, one);
      else answer(response, turn);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const url = `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}`;
  return {
    url,
    seen,
    time,
    /** Sets the next answers, and clears the recorded requests. */
    play(...turns: Turn[]) {
      script = turns;
      seen.length = 0;
      time.pauses.length = 0;
    },
    /** How many turns nobody has asked for. */
    left: () => script.length,
    client: (options: Partial<KeyframeOptions & { secretKey?: never; userKey?: never }> = {}) =>
      createKeyframeClient({ url, getToken: () => "token-1", clock: time.clock, random: () => 0.5, ...options }),
  };
}

function answer(response: ServerResponse, turn: Exclude<Turn, (...args: never[]) => void>): void {
  const { status = 200, headers = {}, data, error, text } = turn;
  response.writeHead(status, { "content-type": "application/json", ...headers });
  if (status === 304) response.end();
  else response.end(text ?? JSON.stringify({ success: error === undefined, data: data ?? null, error: error ?? null }));
}

export const breakOff: Turn = (response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
  response.write('{"success":true,"data":{', () => response.destroy());
};

export const hang: Turn = () => undefined;

/** A refusal as the service writes it. */
export const refusal = (status: number, code: string, headers: Record<string, string> = {}): Turn => ({
  status,
  headers,
  error: { code, message: `It is ${code}.`, requestId: "request-1" },
});

export const REF = {
  projectId: "5f0c9c0e-6f0e-4c55-9b3c-0a9d9f5d3c11",
  step: "video",
  predictionId: "2b9a1c6e-7f43-4d0e-b1b8-1d5c2e7a4f41",
} as const;

/** A prediction on the wire. */
export const predictionWith = (fields: Partial<Prediction> = {}): Prediction => ({
  ...{ ...SAMPLE_PREDICTION, ...REF, createdAt: "2026-03-01T00:00:00Z" },
  status: "queued",
  ...{ progress: null, attempt: 0, cost: null, startedAt: null, completedAt: null, output: null },
  ...fields,
});
