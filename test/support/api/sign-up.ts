import { createClient } from "@supabase/supabase-js";

type Platform = { url: string; publishableKey: string };

export type DataClient = ReturnType<typeof createDataClient>;

function createDataClient({ url, publishableKey }: Platform) {
  return createClient(url, publishableKey, {
    db: { schema: "keyframe" },
    auth: { persistSession: false, autoRefreshToken: false },
  });
}

export async function signUpAt(platform: Platform) {
  const supabase = createDataClient(platform);
  const credentials = { email: `${crypto.randomUUID()}@keyframe.local`, password: crypto.randomUUID() };
  const { data, error } = await supabase.auth.signUp(credentials);
  if (error || !data.session) throw error ?? new Error("Signing up gave no session.");
  return { ...credentials, supabase, session: data.session };
}
