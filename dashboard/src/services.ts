import { createSafeContext } from "@mantine/core";
import { GoTrueClient, isAuthRetryableFetchError } from "@supabase/auth-js";
import { createKeyframeClient, type KeyframeClient, KeyframeError } from "../../client/index.ts";
import type { Config } from "./config.ts";

export type Services = ReturnType<typeof createServices>;

export function createServices(config: Config) {
  const { supabaseUrl, publishableKey } = config;
  const auth = new GoTrueClient({
    url: `${supabaseUrl}/auth/v1`,
    headers: { apikey: publishableKey },
    // supabase-js's name, so that another page of this origin finds the session.
    storageKey: `sb-${new URL(supabaseUrl).hostname.split(".")[0]}-auth-token`,
  });
  // Called before each request: Auth refreshes an expiring session.
  const getToken = async () => {
    const { data, error } = await auth.getSession();
    // No answer: the session may still be valid, so do not report it as missing.
    if (isAuthRetryableFetchError(error)) throw error;
    return data.session?.access_token ?? null;
  };
  // Queries retry on their own.
  const keyframe = createKeyframeClient({ url: supabaseUrl, apikey: publishableKey, getToken, retries: 1 });
  /** A client whose requests outlive the page. It uses the current token, because a page that is being left cannot wait. */
  const openLastClient = async () => {
    const token = await getToken();
    const keptAlive = (address: string, init: RequestInit) => fetch(address, { ...init, keepalive: true });
    const options = { url: supabaseUrl, apikey: publishableKey, retries: 0, fetch: keptAlive };
    return createKeyframeClient({ ...options, getToken: () => token });
  };
  /**
   * Data API and Storage as the user: a GET, or with `json` a POST, of a path below the project's URL. Rejects as the typed client does. Three
   * requests do not need supabase-js, which is 33 kB.
   */
  const callPlatform = async (path: string, { json, signal }: { json?: unknown; signal?: AbortSignal } = {}) => {
    const token = (await getToken()) ?? publishableKey;
    const response = await fetch(supabaseUrl + path, {
      method: json === undefined ? "GET" : "POST",
      headers: {
        apikey: publishableKey,
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "accept-profile": "keyframe",
        "content-profile": "keyframe",
      },
      body: json === undefined ? null : JSON.stringify(json),
      signal: signal ?? null,
    }).catch((cause: unknown) => {
      signal?.throwIfAborted();
      throw new KeyframeError("network", "There was no answer.", { cause: String(cause) });
    });
    const answer: unknown = await response.json().catch(() => null);
    if (!response.ok) throw refusalOf(response.status, answer);
    return answer;
  };
  /** Requests without an answer, by user and mutation key: also for a page that is opened again, or after signing out and in; not after a reload. */
  const unanswered = new Map<string, { body: string; key: string }>();
  return { config, auth, keyframe, openLastClient, unanswered, callPlatform };
}

/** The service's own refusals carry their code as message. */
function refusalOf(status: number, answer: unknown): KeyframeError {
  const { message = `The service answered ${status}.` }: { message?: string } = Object(answer);
  const byStatus = status === 401 ? "unauthorized" : status >= 502 ? "unavailable" : "internal";
  return new KeyframeError(message === "rate_limited" ? message : byStatus, message, { status });
}

export const [ServicesContext, useServices] = createSafeContext<Services>("useServices must be called inside App.");

/** The API without starts by a plan, which must be saved first: `useOnce` has them. */
export type PageClient = Omit<KeyframeClient, "generate" | "films"> & {
  films: Omit<KeyframeClient["films"], "generate">;
};

/** The API as the signed-in user. */
export const useKeyframe = (): PageClient => useServices().keyframe;
