import { createClient } from "@supabase/supabase-js";
import postgres from "postgres";
import { removeData } from "../../local/stack/data-folder.ts";
import { type Stack, startStack } from "../../local/stack/start-stack.ts";

/** A user's session: the gateway's URL, the publishable key and a token. */
export type Caller = { url: string; apikey: string; token: string };

export type BenchStack = Stack & { caller: Caller; sql: postgres.Sql };

/**
 * A throw-away stack without rate limits, with the demo user signed in. What stops it and removes its data is added to `ends`.
 *
 * @param databaseUrl a superuser's URL of an empty Postgres; without it, an embedded one
 */
export async function openBenchStack(
  signal: AbortSignal,
  databaseUrl: string | undefined,
  ends: (() => Promise<void>)[],
): Promise<BenchStack> {
  signal.throwIfAborted();
  const dataDir = await Deno.makeTempDir({ prefix: "keyframe-bench-" });
  ends.push(() => removeData(dataDir));
  const simulator = { startDelayMs: 0, runDelayMs: 0 };
  const stack = await startStack({ dataDir, port: 0, databaseUrl, simulator, signal });
  ends.push(stack.stop);
  const sql = postgres(stack.databaseUrl, { max: 4, onnotice: () => undefined });
  ends.push(() => sql.end({ timeout: 1 }));
  await sql`update keyframe_private.rate_limits set capacity = 1000000, per_second = 100000`;
  const { url, keys, demoUser } = stack;
  const supabase = createClient(url, keys.publishableKey, { auth: { persistSession: false, autoRefreshToken: false } });
  const { data, error } = await supabase.auth.signInWithPassword(demoUser);
  if (error) throw error;
  return { ...stack, sql, caller: { url, apikey: keys.publishableKey, token: data.session.access_token } };
}
