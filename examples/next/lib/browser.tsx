"use client";
import { createBrowserClient } from "@supabase/ssr";
import { createKeyframeClient } from "keyframe-client";
import { KeyframeProvider } from "keyframe-client/react";
import { type ReactNode, useState } from "react";
import { apikey, url } from "./settings";

/** Keeps the session in cookies, so that the server has it, too. */
export const supabaseOfBrowser = () => createBrowserClient(url, apikey);

/** One client for the page, also while a server makes it. Signing in or out loads another page, so it has one user. */
export function WithKeyframe({ children }: { children: ReactNode }) {
  const [client] = useState(() => {
    const supabase = supabaseOfBrowser();
    return createKeyframeClient({
      url,
      apikey,
      getToken: async () => {
        const { data, error } = await supabase.auth.getSession(); // refreshes an expired session
        if (error) throw error;
        return data.session?.access_token ?? null;
      },
    });
  });
  return <KeyframeProvider client={client}>{children}</KeyframeProvider>;
}
