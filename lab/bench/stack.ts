import postgres from "postgres";
import { removeData } from "../../local/stack/data-folder.ts";
import type { StackOptions } from "../../local/stack/stack-settings.ts";
import { type Stack, startStack } from "../../local/stack/start-stack.ts";

/** A user's session: the gateway's URL, the publishable key and a token. */
export type Caller = { url: string; apikey: string; token: string };

export type BenchStack = Stack & { caller: Caller; sql: postgres.Sql };

/**
 * A throw-away stack without rate limits, with the demo user signed in; a provider run takes only as long as the simulator draws. With
 * `databaseUrl`, a superuser's URL of an empty Postgres, on that one. `stop` removes its data.
 */
export async function openBenchStack(
  options: Pick<StackOptions, "signal" | "databaseUrl" | "workers">,
): Promise<BenchStack> {
  const dataDir = await Deno.makeTempDir({ prefix: "keyframe-bench-" });
  const simulator = { startDelayMs: 0, runDelayMs: 0 };
  const stack = await startStack({ ...options, dataDir, port: 0, simulator });
  const sql = postgres(stack.databaseUrl, {
    max: 4,
    onnotice: () => undefined,
    connection: { application_name: "keyframe-bench" },
  });
  const stop = async () => {
    await sql.end({ timeout: 1 });
    await stack.stop();
    await removeData(dataDir);
  };
  await sql`update keyframe_private.rate_limits set capacity = 1000000, per_second = 100000`;
  const caller = { url: stack.url, apikey: stack.keys.publishableKey, token: stack.demoSession.access_token };
  return { ...stack, sql, caller, stop };
}
