import { KeyframeError } from "./error.ts";
import { type Answer, readAnswer } from "./read-answer.ts";
import type { Settings } from "./settings.ts";
import { within } from "./clock.ts";

export type Call = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** The path below the function's address, with its query. */
  path: string;
  headers: Record<string, string>;
  body?: string | Blob | Uint8Array<ArrayBuffer> | ArrayBuffer;
  /** A token in the path that replaces the session. */
  pathToken?: string;
  /** How long the call may take, in ms. */
  limitMs: number;
  signal: AbortSignal | undefined;
};

/**
 * Sends a request and reads its answer. A session can expire on the way, so after a 401 the request is sent once more if getToken returns
 * another token. Throws KeyframeError, or the signal's reason.
 */
export function sendOnce(call: Call, settings: Settings): Promise<Answer> {
  const { clock } = settings;
  const ms = call.limitMs;
  let asksForToken = false;
  const ask = async () => {
    asksForToken = true;
    const token = await askForToken(settings);
    asksForToken = false;
    return token;
  };
  const timeoutError = () =>
    asksForToken
      ? new KeyframeError("no_token", NO_TOKEN_IN_TIME)
      : new KeyframeError("network", `No answer arrived within ${Math.round(ms / 1000)} s. Try again.`);
  return within({ clock, ms, signal: call.signal, timeoutError }, async (signal) => {
    const token = call.pathToken ?? (await ask());
    if (token === null) throw new KeyframeError("unauthorized", "You are not signed in. Sign in and try again.");
    const response = await request(call, token, signal, settings);
    const fresh = response.status === 401 && call.pathToken === undefined ? await ask() : null;
    if (fresh === null || fresh === token) return await read(response, call, token, settings);
    response.body?.cancel().catch(() => undefined);
    return await read(await request(call, fresh, signal, settings), call, fresh, settings);
  });
}

const NO_TOKEN_IN_TIME =
  "getToken did not return in time. Inside onAuthStateChange, supabase-js answers only after your callback has returned: make the call after that.";

async function askForToken({ getToken }: Settings): Promise<string | null> {
  let token: string | null;
  try {
    token = await getToken();
  } catch (error) {
    throw new KeyframeError("no_token", "getToken failed: sign in again, or check the function.", {
      cause: sentence(error),
    });
  }
  // fetch would quote an invalid token in its error.
  if (token === null || /^[\x21-\x7e]+$/.test(token)) return token;
  throw new KeyframeError("unauthorized", "getToken did not return a session token. Sign in and try again.");
}

async function request(call: Call, token: string, signal: AbortSignal, settings: Settings): Promise<Response> {
  const { method, path, headers, body, pathToken } = call;
  return await settings
    .fetch(settings.base + path, {
      method,
      headers: {
        ...headers,
        ...settings.headers,
        ...(pathToken === undefined ? { authorization: `Bearer ${token}` } : {}),
      },
      ...(body === undefined ? {} : { body }),
      ...cacheMode(headers),
      // The service never redirects. A redirect would turn a POST into a GET, or send the token to another server. Cloudflare Workers refuse
      // `error`, so readAnswer refuses the answer.
      redirect: "manual",
      signal,
    })
    .catch((error: unknown) => {
      // Next.js uses such an error to stop prerendering a page and render it for each request.
      if (error instanceof Error && "digest" in error) throw error;
      throw networkError(call, error, token);
    });
}

/**
 * With our own If-None-Match a browser bypasses its cache and its cache of preflights, so each poll would cost two requests. force-cache
 * avoids this. It finds nothing stale, because the service's answers are no-store. On a server, Next.js would cache the answers and render
 * the page only once, so no-store is used where the runtime has it. Older Cloudflare Workers refuse it.
 */
function cacheMode(headers: Call["headers"]): Pick<RequestInit, "cache"> {
  if (globalThis.location !== undefined) return "if-none-match" in headers ? { cache: "force-cache" } : {};
  return typeof Request === "function" && "cache" in Request.prototype ? { cache: "no-store" } : {};
}

async function read(response: Response, call: Call, token: string, settings: Settings): Promise<Answer> {
  const body = await response.text().catch((error: unknown) => {
    throw networkError(call, error, token);
  });
  return readAnswer(response.status, response.headers, body, settings.clock.now());
}

const networkError = ({ method, path }: Call, error: unknown, token: string): KeyframeError =>
  new KeyframeError(
    "network",
    `No complete answer to ${method} ${path.split("?")[0]?.replaceAll(token, "…")}. Check the connection and the url.`,
    {
      cause: sentence(error).replaceAll(token, "…"),
    },
  );

/** Includes the cause, in which Node's fetch gives the reason. */
function sentence(error: unknown): string {
  const own = String(error);
  return error instanceof Error && error.cause instanceof Error ? `${own} (${error.cause.message})` : own;
}
