import { type Clock, systemClock } from "./clock.ts";
import { randomKey } from "./random-key.ts";

export type KeyframeOptions = {
  /** The project's Supabase URL, as createClient of supabase-js takes it; not the address of the functions. */
  url: string;
  /**
   * The session's access token, or null when nobody is signed in. Called before each request, so a refreshed session is used.
   * When it rejects, the call is repeated as after a network failure.
   */
  getToken: () => string | null | Promise<string | null>;
  /** The publishable key, sent as the header `apikey` that some gateways ask for. */
  apikey?: string;
  /** The name under which the function `api` is deployed. Default: api. */
  functionName?: string;
  /** How often a call is repeated after a transient failure (default 3; 0: never). */
  retries?: number;
  /** How long one request may take, in ms (default 30,000), plus the time the service was asked to hold it. */
  requestTimeoutMs?: number;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** For tests. */
  clock?: Clock;
  /** From 0 to below 1. For tests. */
  random?: () => number;
  /** Makes an Idempotency-Key. For tests. */
  randomKey?: () => string;
};

/** The options with their defaults. `base` is the URL before the paths of the contract. */
export type Settings = Required<Omit<KeyframeOptions, "url" | "apikey" | "functionName">> & {
  base: string;
  apikey: string | null;
};

/** Throws a TypeError for an invalid option. */
export function resolveSettings(options: KeyframeOptions): Settings {
  const { retries = 3, requestTimeoutMs = 30_000, apikey = null, functionName = "api" } = options;
  if (!Number.isInteger(retries) || retries < 0) throw new TypeError("retries must be a whole number, 0 or more.");
  if (!(requestTimeoutMs > 0)) throw new TypeError("requestTimeoutMs must be more than 0.");
  if (apikey !== null && !/^[\x21-\x7e]+$/.test(apikey))
    throw new TypeError("apikey must be visible ASCII characters.");
  if (!/^[a-z][\w-]*$/i.test(functionName)) throw new TypeError("functionName must be the name of an Edge Function.");
  const mount = functionName === "api" ? "" : `/${functionName}`;
  return {
    base: `${supabaseUrl(options.url)}/functions/v1${mount}/api`,
    apikey,
    retries,
    requestTimeoutMs,
    getToken: options.getToken,
    // A browser's fetch must be called without `this`.
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    randomKey: options.randomKey ?? randomKey,
  };
}

function supabaseUrl(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new TypeError("url must be the project's Supabase URL, such as https://abc.supabase.co.");
  }
  const path = url.pathname.replace(/\/+$/, "");
  if (path.includes("/functions")) {
    throw new TypeError("url must be the project's Supabase URL, without /functions/v1: the client adds that.");
  }
  return url.origin + path;
}
