import { inject } from "vitest";

/** Who asks the Data API: nobody signed in, a user by their session token, or the project by its secret key. */
type RestCaller = "anon" | "service_role" | { token: string };

type RestReply = { status: number; headers: Headers; text: string; code: string | null; message: string };

/** Sends one request to the Data API, over HTTP, as it is given. `path` follows /rest/v1 and is sent as it is. */
export async function rest(
  caller: RestCaller,
  method: string,
  path: string,
  { json, headers = {} }: { json?: unknown; headers?: Record<string, string> } = {},
): Promise<RestReply> {
  const { url, publishableKey, secretKey } = inject("stack");
  const response = await fetch(`${url}/rest/v1${path}`, {
    method,
    headers: {
      apikey: caller === "service_role" ? secretKey : publishableKey,
      ...(typeof caller === "string" ? {} : { authorization: `Bearer ${caller.token}` }),
      "accept-profile": "keyframe",
      "content-profile": "keyframe",
      ...(json === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  const text = await response.text();
  const { code = null, message = "" } = errorIn(text);
  return { status: response.status, headers: response.headers, text, code, message };
}

/** An error of the Data API is an object with code and message; rows are a list. */
function errorIn(text: string): { code?: string; message?: string } {
  if (!text.startsWith("{")) return {};
  return JSON.parse(text) as { code?: string; message?: string }; // only these two are read, and compared
}

/**
 * Whether a reply is the refusal of a missing grant, or of a column that Postgres numbers itself (428C9).
 * Row-level security refuses with 42501 too, in other words.
 */
export const isDenied = ({ code, message }: RestReply): boolean =>
  code === "428C9" || (code === "42501" && message.startsWith("permission denied"));
