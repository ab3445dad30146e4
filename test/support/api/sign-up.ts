import { createClient } from "@supabase/supabase-js";

type Platform = { url: string; publishableKey: string };

export type DataClient = ReturnType<typeof createDataClient>;

/** supabase-js as an app uses it: for Auth and the Data API, as nobody until somebody signs in. */
function createDataClient({ url, publishableKey }: Platform) {
  return createClient(url, publishableKey, {
    db: { schema: "keyframe" },
    auth: { persistSession: false, autoRefreshToken: false },
  });
}

/** Signs a new user up through Auth, which signs them in, as an app does. */
export async function signUpAt(platform: Platform) {
  const supabase = createDataClient(platform);
  const credentials = { email: `${crypto.randomUUID()}@keyframe.local`, password: crypto.randomUUID() };
  const { data, error } = await supabase.auth.signUp(credentials);
  if (error || !data.session) throw error ?? new Error("Signing up gave no session.");
  return { ...credentials, supabase, session: data.session };
}
