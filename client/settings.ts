import { type Clock, systemClock } from "./clock.ts";

export type KeyframeOptions = (SessionOptions | KeyOptions | ServerOptions) & {
  /** The project's Supabase URL, as createClient of supabase-js takes it; not the address of the functions. */
  url: string;
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
};

/** For an app: the signed-in user calls. */
type SessionOptions = {
  /**
   * The session's access token, or null when no user is signed in. Called before each request, so a refreshed session is used.
   * If it rejects, the call is repeated as after a network failure.
   */
  getToken: () => string | null | Promise<string | null>;
  /** The publishable key, sent as the header `apikey`, which some gateways require. */
  apikey?: string;
  userKey?: never;
  secretKey?: never;
  userId?: never;
};

/** For an agent or a script: a key acts for the user who made it, within its rights and its limit. */
type KeyOptions = {
  /**
   * The user's key (kf_…). It is taken by this API and by `keyframe-mcp`; Supabase's Data API, Storage and Realtime take sessions only.
   * Never use it in a page or an app.
   */
  userKey: string;
  apikey?: string;
  getToken?: never;
  secretKey?: never;
  userId?: never;
};

/** For a server that acts for one user, with that user's rights, limits and rows, and nothing more. */
type ServerOptions = {
  /** The project's secret key (sb_secret_…). Never use it in a browser or an app. */
  secretKey: string;
  /** The user's id in Supabase Auth. */
  userId: string;
  getToken?: never;
  apikey?: never;
  userKey?: never;
};

/** The options with their defaults. `base` is the URL before the paths of the contract. */
export type Settings = Required<
  Omit<KeyframeOptions, "url" | "functionName" | keyof ServerOptions | keyof KeyOptions>
> & {
  base: string;
  getToken: SessionOptions["getToken"];
  /** Headers of every request, in addition to Authorization. */
  headers: Record<string, string>;
};

/** Throws a TypeError for an invalid option. */
export function resolveSettings(options: KeyframeOptions): Settings {
  const { retries = 3, requestTimeoutMs = 30_000, functionName = "api" } = options;
  if (!Number.isInteger(retries) || retries < 0) throw new TypeError("retries must be a whole number, 0 or more.");
  if (!(requestTimeoutMs > 0)) throw new TypeError("requestTimeoutMs must be more than 0.");
  if (!/^[a-z][\w-]*$/i.test(functionName)) throw new TypeError("functionName must be the name of an Edge Function.");
  const mount = functionName === "api" ? "" : `/${functionName}`;
  return {
    base: `${supabaseUrl(options.url)}/functions/v1${mount}/api`,
    ...callerOf(options),
    retries,
    requestTimeoutMs,
    // A browser's fetch must be called without `this`.
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
  };
}

function callerOf(options: KeyframeOptions): Pick<Settings, "getToken" | "headers"> {
  if (isForKey(options)) {
    const { userKey, apikey } = options;
    mustNotBeReadable("userKey", "your own programs");
    mustBeSet("userKey", userKey, "Give the key that the user made, kf_….");
    if (!/^kf_[0-9a-f]{72}$/.test(userKey))
      throw new TypeError("userKey must be a key that a user made: kf_ and 72 characters from 0 to 9 and a to f.");
    return { getToken: () => userKey, headers: headersOf(apikey) };
  }
  if (!isForServer(options)) {
    const { getToken, apikey } = options;
    mustBeSet(
      "getToken",
      getToken,
      "Pass a function that returns the session's token, or userKey; on a server, pass secretKey and userId.",
    );
    if (typeof getToken !== "function") throw new TypeError("getToken must be a function.");
    return { getToken, headers: headersOf(apikey) };
  }
  const { secretKey, userId } = options;
  mustNotBeReadable("secretKey", "servers");
  mustBeSet("secretKey", secretKey, "Pass the project's secret key, sb_secret_….");
  mustBeSet("userId", userId, "Pass the id of the user to act for.");
  if (!/^sb_secret_[\x21-\x7e]+$/.test(secretKey))
    throw new TypeError(
      "secretKey must be the project's secret key, sb_secret_…. A key of a user is given as userKey.",
    );
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(userId))
    throw new TypeError("userId must be the id of a user of Supabase Auth, a UUID.");
  return { getToken: () => secretKey, headers: { apikey: secretKey, "keyframe-user": userId } };
}

function headersOf(apikey: string | undefined): Record<string, string> {
  if (apikey === undefined) return {};
  mustBeSet("apikey", apikey, "Pass the project's publishable key, or leave apikey out.");
  if (apikey.startsWith("kf_"))
    throw new TypeError("apikey is the project's publishable key. A key of a user is given as userKey.");
  if (!/^[\x21-\x7e]+$/.test(apikey)) throw new TypeError("apikey must be visible ASCII characters.");
  return { apikey };
}

/** Pages and their workers have a location; React Native has none. */
function mustNotBeReadable(name: string, place: string): void {
  if (globalThis.location !== undefined || globalThis.navigator?.product === "ReactNative")
    throw new TypeError(`${name} is for ${place} only: in a browser or an app anyone could read it. Pass getToken.`);
}

const isForKey = (options: KeyframeOptions): options is KeyOptions & KeyframeOptions =>
  options.userKey !== undefined || (options.getToken === undefined && "userKey" in options);

/** An option without a value usually comes from an environment variable that is not set. */
const isForServer = (options: KeyframeOptions): options is ServerOptions & KeyframeOptions =>
  options.secretKey !== undefined ||
  (options.getToken === undefined && ("secretKey" in options || "userId" in options));

function mustBeSet(name: string, value: unknown, remedy: string): void {
  if (value === undefined || value === null || value === "")
    throw new TypeError(`${name} is empty. ${remedy} If it comes from an environment variable, check that it is set.`);
}

function supabaseUrl(given: string): string {
  const remedy = "url must be the project's Supabase URL, such as https://abc.supabase.co.";
  mustBeSet("url", given, remedy);
  const url = parse(given);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw new TypeError(remedy);
  const path = url.pathname.replace(/\/+$/, "");
  if (path.includes("/functions")) {
    throw new TypeError("url must be the project's Supabase URL without /functions/v1, which the client adds.");
  }
  return url.origin + path;
}

/** React Native has no URL.canParse. */
function parse(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
