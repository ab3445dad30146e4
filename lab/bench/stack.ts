import { createClient, type Session } from "@supabase/supabase-js";
import postgres from "postgres";
import { removeData } from "../../local/stack/data-folder.ts";
import { type Stack, startStack } from "../../local/stack/start-stack.ts";

/** A caller: the service's URL, the publishable key and a session's token. */
export type Caller = { url: string; apikey: string; token: string };

export type BenchStack = Stack & { caller: Caller; session: Session };

export type OpenBenchStack = {
  stack: BenchStack;
  /** Stops it and removes its data. May be called twice. */
  end(): Promise<void>;
};

/**
 * A throw-away stack: simulator without delay, rate limits raised, the demo user signed in. `signal` aborts the start
 * and stops what had started; `databaseUrl` is a superuser's connection string of an empty Postgres to use instead of
 * the embedded one.
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
    const session = await signIn(stack);
    const caller = { url: stack.url, apikey: stack.keys.publishableKey, token: session.access_token };
    return { stack: { ...stack, caller, session }, end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Signs the demo user in. */
async function signIn({ url, keys, demoUser }: Stack): Promise<Session> {
  const supabase = createClient(url, keys.publishableKey, { auth: { persistSession: false, autoRefreshToken: false } });
  const { data, error } = await supabase.auth.signInWithPassword(demoUser);
  if (error) throw error;
  return data.session;
}

/** Raises the rate limits beyond any benchmark; they are still counted. */
async function liftLimits(databaseUrl: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1 });
  await sql`update keyframe_private.rate_limits set capacity = 1000000, per_second = 100000`;
  await sql.end();
}

/** The stack that benchmarks share, started at the first call. */
export class SharedStack {
  readonly #start: () => Promise<OpenBenchStack>;
  #started: Promise<OpenBenchStack> | undefined;

  constructor(start: () => Promise<OpenBenchStack>) {
    this.#start = start;
  }

  async open(): Promise<BenchStack> {
    this.#started ??= this.#start();
    return (await this.#started).stack;
  }

  /** The next call starts a new one. */
  async end(): Promise<void> {
    const started = this.#started;
    this.#started = undefined;
    await (await started?.catch(() => undefined))?.end();
  }
}
