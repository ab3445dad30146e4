import { createClient, type Session, type SupabaseClient } from "@supabase/supabase-js";
import { inject } from "vitest";
import { createKeyframeClient, type KeyframeClient } from "../../../client/index.ts";

/** Somebody with an account, signed in outside of any browser. */
export type Person = {
  email: string;
  password: string;
  session: Session;
  supabase: SupabaseClient;
  keyframe: KeyframeClient;
};

/** Signs a new user up. Their session can be given to a browser. */
export async function newPerson(): Promise<Person> {
  const { url, publishableKey } = inject("stack");
  const supabase = createClient(url, publishableKey, { auth: { persistSession: false, autoRefreshToken: false } });
  const credentials = { email: `person-${crypto.randomUUID()}@keyframe.local`, password: crypto.randomUUID() };
  const { data, error } = await supabase.auth.signUp(credentials);
  if (error || !data.session) throw error ?? new Error("No session came with the new account.");
  const { session } = data;
  const keyframe = createKeyframeClient({ url, apikey: publishableKey, getToken: () => session.access_token });
  return { ...credentials, session, supabase, keyframe };
}
