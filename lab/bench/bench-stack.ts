import { createClient } from "@supabase/supabase-js";
import { removeData } from "../../local/stack/data-folder.ts";
import { type Stack, startStack } from "../../local/stack/start-stack.ts";
import { liftLimits } from "./lift-limits.ts";

/** Who calls a service: its address, the publishable key and a session's token. */
export type Caller = { url: string; apikey: string; token: string };

export type BenchStack = Stack & { caller: Caller };

export type OpenBenchStack = {
  stack: BenchStack;
  /** Stops it and removes its data. May be called twice. */
  end(): Promise<void>;
};

/**
 * A throw-away local stack: simulator without delay, rate limits out of the way, the demo user signed in.
 *
 * @param signal gives the start up; what had started is taken down
 * @param databaseUrl a superuser's address of an empty Postgres that takes the place of the embedded one, with the extensions
 *   that are real there
 */
export async function startBenchStack(signal: AbortSignal, databaseUrl?: string): Promise<OpenBenchStack> {
  signal.throwIfAborted();
  const dataDir = await Deno.makeTempDir({ prefix: "keyframe-bench-" });
  const simulator = { startDelayMs: 0, runDelayMs: 0 };
  const stack = await startStack({ dataDir, port: 0, databaseUrl, simulator, signal }).catch(async (error) => {
    await removeData(dataDir);
    throw error;
  });
  let ended: Promise<void> | undefined;
  const end = () => {
    ended ??= stack.stop().then(() => removeData(dataDir));
    return ended;
  };
  try {
    await liftLimits(stack.databaseUrl);
    return { stack: { ...stack, caller: await signIn(stack) }, end };
  } catch (error) {
    await end();
    throw error;
  }
}

async function signIn({ url, keys, demoUser }: Stack): Promise<Caller> {
  const supabase = createClient(url, keys.publishableKey, { auth: { persistSession: false, autoRefreshToken: false } });
  const { data, error } = await supabase.auth.signInWithPassword(demoUser);
  if (error) throw error;
  return { url, apikey: keys.publishableKey, token: data.session.access_token };
}
