import { createClient } from "@supabase/supabase-js";
import type { StackKeys } from "./stack-keys.ts";

const EMAIL = "demo@keyframe.local";

export const demoUserOf = (keys: StackKeys) => ({ email: EMAIL, password: keys.demoPassword });

/** Signs the demo user up through Auth, unless it is there already. */
export async function ensureDemoUser(url: string, keys: StackKeys): Promise<{ email: string; password: string }> {
  const user = demoUserOf(keys);
  const { auth } = createClient(url, keys.publishableKey, { auth: { persistSession: false, autoRefreshToken: false } });
  const { error } = await auth.signInWithPassword(user);
  if (!error) return user;
  const { error: refused } = await auth.signUp(user);
  if (refused) throw new Error(`The demo user could not be signed up: ${refused.message}`);
  return user;
}
