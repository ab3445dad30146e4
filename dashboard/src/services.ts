import { GoTrueClient, isAuthRetryableFetchError } from "@supabase/auth-js";
import { createKeyframeClient, type KeyframeClient, KeyframeError, type KeyframeOptions } from "../../client/index.ts";
import type { Config } from "./config.ts";
import { type OnUploaded, sendWithProgress } from "./send-with-progress.ts";

/** What the pages stand on. */
export type Services = {
  config: Config;
  auth: GoTrueClient;
  keyframe: KeyframeClient;
  /** The same, for one upload that says how far it is. */
  keyframeUploading: (onUploaded: OnUploaded) => KeyframeClient;
  /** The Data API and Storage, as the person. Loaded when a page first asks: sign-in needs nothing of supabase-js but Auth. */
  openSupabase: () => Promise<DataClient>;
};

export type DataClient = Awaited<ReturnType<typeof createDataClient>>;

async function createDataClient({ supabaseUrl, publishableKey }: Config, accessToken: () => Promise<string | null>) {
  const { createClient } = await import("@supabase/supabase-js").catch(() => {
    throw new KeyframeError("network", "A part of the dashboard could not be loaded.");
  });
  return createClient(supabaseUrl, publishableKey, { db: { schema: "keyframe" }, accessToken });
}

export function createServices(config: Config): Services {
  const { supabaseUrl, publishableKey } = config;
  const auth = new GoTrueClient({
    url: `${supabaseUrl}/auth/v1`,
    headers: { apikey: publishableKey },
    storageKey: storageKeyOf(supabaseUrl),
  });
  // Asked before each request: Auth refreshes a session that runs out.
  const getToken = async () => {
    const { data, error } = await auth.getSession();
    // No answer. The session is still there, so this must not look as if nobody were signed in.
    if (isAuthRetryableFetchError(error)) throw error;
    return data.session?.access_token ?? null;
  };
  const options: KeyframeOptions = {
    url: supabaseUrl,
    apikey: publishableKey,
    getToken,
    retries: 1, // the queries repeat, and say so
  };
  const keyframe = createKeyframeClient(options);
  const keyframeUploading: Services["keyframeUploading"] = (onUploaded) =>
    createKeyframeClient({ ...options, fetch: sendWithProgress(onUploaded) });
  let supabase: Promise<DataClient> | undefined;
  const openSupabase = () => {
    supabase ??= createDataClient(config, getToken).catch((error) => {
      supabase = undefined; // the next call tries again
      throw error;
    });
    return supabase;
  };
  return { config, auth, keyframe, keyframeUploading, openSupabase };
}

/** As supabase-js names it, so that another page of the same origin finds the session. */
const storageKeyOf = (supabaseUrl: string): string =>
  `sb-${new URL(supabaseUrl).hostname.split(".")[0] ?? ""}-auth-token`;
