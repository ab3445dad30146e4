import { inject } from "vitest";
import { type Reply, readReply } from "./envelope.ts";

export type CallOptions = {
  method?: string;
  token?: string;
  headers?: Record<string, string>;
  /** Sent as JSON with its content type; `body` is sent as it is. */
  json?: unknown;
  body?: BodyInit;
};

/** Sends a request to the API of the running stack, over HTTP, and returns what came, unread. `path` begins with /api. */
export function sendToApi(path: string, options: CallOptions = {}): Promise<Response> {
  return fetch(`${inject("stack").url}/functions/v1${path}`, requestInit(options));
}

export async function callApi(path: string, options: CallOptions = {}): Promise<Reply> {
  return await readReply(await sendToApi(path, options));
}

export function requestInit({ method, token, headers = {}, json, body }: CallOptions): RequestInit {
  const sent = json === undefined ? body : JSON.stringify(json);
  return {
    method: method ?? (sent === undefined ? "GET" : "POST"),
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(json === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(sent === undefined ? {} : { body: sent }),
  };
}
