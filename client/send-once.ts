import { KeyframeError } from "./error.ts";
import { type Answer, readAnswer } from "./read-answer.ts";
import type { Settings } from "./settings.ts";
import { within } from "./clock.ts";

/** One request of the contract. */
export type Call = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below the function's address, with its query. */
  path: string;
  headers: Record<string, string>;
  body?: BodyInit;
  /** How long it may take, in ms, instead of requestTimeoutMs. */
  limitMs?: number;
  signal: AbortSignal | undefined;
};

/**
 * Sends a request and reads its answer. A 401 is answered with a fresh token, once, where getToken has another one by then:
 * a session may end between the two. Throws KeyframeError, or the signal's reason.
 */
export function sendOnce(call: Call, settings: Settings): Promise<Answer> {
  const { clock, requestTimeoutMs } = settings;
  const ms = call.limitMs ?? requestTimeoutMs;
  const late = () => new KeyframeError("network", `No answer came within ${Math.round(ms / 1000)} s. Try again.`);
  return within({ clock, ms, signal: call.signal, late }, async (signal) => {
    const token = await askForToken(settings);
    if (token === null) throw new KeyframeError("unauthorized", "Nobody is signed in. Sign in and try again.");
    const response = await request(call, token, signal, settings);
    if (response.status !== 401) return await read(response, call, token, settings);
    const fresh = await askForToken(settings);
    if (fresh === null || fresh === token) return await read(response, call, token, settings);
    response.body?.cancel().catch(() => undefined);
    return await read(await request(call, fresh, signal, settings), call, fresh, settings);
  });
}

async function askForToken({ getToken }: Settings): Promise<string | null> {
  let token: string | null;
  try {
    token = await getToken();
  } catch (error) {
    throw new KeyframeError("no_token", "The session token could not be had. Try again.", { cause: sentence(error) });
  }
  // What fetch says of a header it refuses quotes the header.
  if (token === null || /^[\x21-\x7e]+$/.test(token)) return token;
  throw new KeyframeError("unauthorized", "What getToken gave is no session token. Sign in and try again.");
}

async function request(call: Call, token: string, signal: AbortSignal, settings: Settings): Promise<Response> {
  const { method, path, headers, body } = call;
  const apikey = settings.apikey === null ? {} : { apikey: settings.apikey };
  return await settings
    .fetch(settings.base + path, {
      method,
      headers: { ...headers, ...apikey, authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body }),
      // A tag of ours makes a browser bypass its cache, and with that its memory of preflights: each look would cost two
      // requests. There is nothing to find in the cache: the service forbids to store its answers.
      ...("if-none-match" in headers ? { cache: "force-cache" } : {}),
      // The service never redirects; whoever does would make a GET of a POST, or be told the key.
      redirect: "error",
      signal,
    })
    .catch((error: unknown) => {
      throw broken(call, error, token);
    });
}

async function read(response: Response, call: Call, token: string, settings: Settings): Promise<Answer> {
  const body = await response.text().catch((error: unknown) => {
    throw broken(call, error, token);
  });
  return readAnswer(response.status, response.headers, body, settings.clock.now());
}

const broken = ({ method, path }: Call, error: unknown, token: string): KeyframeError =>
  new KeyframeError(
    "network",
    `No whole answer came to ${method} ${path.split("?")[0]}. Check the connection and the url.`,
    {
      cause: sentence(error).replaceAll(token, "…"),
    },
  );

/** A failed fetch of Node tells why in its cause. */
function sentence(error: unknown): string {
  const own = String(error);
  return error instanceof Error && error.cause instanceof Error ? `${own} (${error.cause.message})` : own;
}
