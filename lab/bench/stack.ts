import postgres from "postgres";
import { removeData } from "../../local/stack/data-folder.ts";
import { type Stack, startStack } from "../../local/stack/start-stack.ts";

/** A user's session: the gateway's URL, the publishable key and a token. */
export type Caller = { url: string; apikey: string; token: string };

export type BenchStack = Stack & { caller: Caller; sql: postgres.Sql };

export type StackSettings = {
  /** How long the simulator takes for a run, in ms. Without it, only as long as it draws. */
  simulator?: { startDelayMs: number; runDelayMs: number };
};

/** The stacks of one benchmark. */
export class BenchStacks {
  readonly #signal: AbortSignal;
  readonly #databaseUrl: string | undefined;
  readonly #ends: (() => Promise<void>)[] = [];
  readonly #starting: Promise<unknown>[] = [];

  /**
   * @param signal aborts a start
   * @param databaseUrl a superuser's URL of an empty Postgres for the only stack; without it, an embedded one for each
   */
  constructor(signal: AbortSignal, databaseUrl?: string) {
    this.#signal = signal;
    this.#databaseUrl = databaseUrl;
  }

  /** A throw-away stack without rate limits, with the demo user signed in. */
  open(settings: StackSettings = {}): Promise<BenchStack> {
    const isFirst = this.#starting.length === 0;
    const starting = this.#open(settings, isFirst);
    this.#starting.push(starting);
    return starting;
  }

  async #open({ simulator = { startDelayMs: 0, runDelayMs: 0 } }: StackSettings, isFirst: boolean) {
    const [signal, databaseUrl] = [this.#signal, this.#databaseUrl];
    signal.throwIfAborted();
    if (databaseUrl !== undefined && !isFirst)
      throw new Error("KEYFRAME_DATABASE_URL is one database, and this benchmark compares two.");
    const dataDir = await Deno.makeTempDir({ prefix: "keyframe-bench-" });
    this.#ends.push(() => removeData(dataDir));
    const stack = await startStack({ dataDir, port: 0, databaseUrl, simulator, signal });
    this.#ends.push(stack.stop);
    const sql = postgres(stack.databaseUrl, { max: 4, onnotice: () => undefined });
    this.#ends.push(() => sql.end({ timeout: 1 }));
    await sql`update keyframe_private.rate_limits set capacity = 1000000, per_second = 100000`;
    const caller = { url: stack.url, apikey: stack.keys.publishableKey, token: stack.demoSession.access_token };
    return { ...stack, sql, caller };
  }

  /** Stops them and removes their data. */
  async end(): Promise<void> {
    await Promise.allSettled(this.#starting);
    for (const end of this.#ends.splice(0).reverse()) await end();
  }
}
