import { createClient } from "@supabase/supabase-js";
import { createKeyframeClient } from "keyframe-client";

const url = import.meta.env.VITE_SUPABASE_URL;
const apikey = import.meta.env.VITE_SUPABASE_PUBLISHABLE_KEY;
if (!url || !apikey)
  throw new Error("Set VITE_SUPABASE_URL and VITE_SUPABASE_PUBLISHABLE_KEY, for example in .env.local.");

export const supabase = createClient(url, apikey);

export const createKeyframe = () =>
  createKeyframeClient({
    url,
    apikey,
    getToken: async () => {
      const { data, error } = await supabase.auth.getSession(); // refreshes an expired session
      if (error) throw error;
      return data.session?.access_token ?? null;
    },
  });

export const sentenceOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
