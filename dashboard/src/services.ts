import { createSafeContext } from "@mantine/core";
import { GoTrueClient, isAuthRetryableFetchError } from "@supabase/auth-js";
import {
  createKeyframeClient,
  type FilmEstimate,
  type KeyframeClient,
  KeyframeError,
  type Output,
} from "../../client/index.ts";
import type { Config } from "./config.ts";

/** What a request keeps until it is answered. `quote`: of a start whose answer was lost: a retry reuses the quote. */
export type Once = { idempotencyKey: string; quote?: FilmEstimate };

export type Services = ReturnType<typeof createServices>;

export function createServices(config: Config) {
  const { supabaseUrl, publishableKey } = config;
  const auth = new GoTrueClient({
    url: `${supabaseUrl}/auth/v1`,
    headers: { apikey: publishableKey },
    // The key is that of supabase-js, so that another page of this origin finds the session.
    storageKey: `sb-${new URL(supabaseUrl).hostname.split(".")[0]}-auth-token`,
  });
  // Auth refreshes an expiring session, so this runs before each request.
  const getToken = async () => {
    const { data, error } = await auth.getSession();
    // Without an answer, the session may still be valid, so it is not reported as missing.
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
  /** Calls the Data API or Storage as the user: a GET, or with `json` a POST. Rejects as the typed client does. supabase-js would add 33 kB. */
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
  /** Requests without an answer, by user and mutation key. They stay until a reload, even if the user signs out and in again. */
  const unanswered = new Map<string, { body: string; once: Once }>();
  /** The outputs that were read, by path: an unchanged file keeps its signed URL. Dropped when the user changes. */
  const outputs = new Map<string, Output>();
  return { config, auth, keyframe, openLastClient, unanswered, outputs, callPlatform };
}

/** The service's own refusals carry their code as message. */
function refusalOf(status: number, answer: unknown): KeyframeError {
  const { message = `The service answered ${status}.` }: { message?: string } = Object(answer);
  const byStatus = status === 401 ? "unauthorized" : status >= 502 ? "unavailable" : "internal";
  return new KeyframeError(message === "rate_limited" ? message : byStatus, message, { status });
}

export const [ServicesContext, useServices] = createSafeContext<Services>("useServices must be called inside App.");

/** The API without starts that use a plan. `useOnce` has them, because it saves the plan first. */
export type PageClient = Omit<KeyframeClient, "generate" | "films"> & {
  films: Omit<KeyframeClient["films"], "generate">;
};

export const useKeyframe = (): PageClient => useServices().keyframe;
