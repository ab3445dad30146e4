import { fileURLToPath } from "node:url";
import { functionArguments, HOSTED_DENO } from "../../../local/stack/function-arguments.ts";
import { freePort, waitForPort } from "../../../local/network.ts";
import { sign } from "../../../shared/webhooks/signature.ts";
import type { BenchStack } from "../bench-stack.ts";

export type DeliverProcess = {
  pid: number;
  /** Has it look for what is due, as Postgres does. */
  kick(): Promise<void>;
  close(): Promise<void>;
};

const HOSTED_DELIVER = fileURLToPath(new URL("hosted-deliver.ts", import.meta.url));

/**
 * One more deliver function beside the stack's own, with the same rights, as the hosted platform starts them when it likes: on
 * the Deno that runs this, or on the hosted platform's version.
 */
export async function startDeliver(
  { url, keys }: BenchStack,
  runtime: "this" | "hosted" = "this",
): Promise<DeliverProcess> {
  const port = freePort();
  const args = functionArguments("keyframe-deliver", port, "anywhere");
  // The older version does not know DENO_SERVE_ADDRESS.
  if (runtime === "hosted") args.splice(-1, 1, HOSTED_DELIVER, String(port));
  const child = new Deno.Command(runtime === "hosted" ? HOSTED_DENO : Deno.execPath(), {
    args,
    env: {
      SUPABASE_URL: url,
      SUPABASE_SECRET_KEYS: JSON.stringify({ default: keys.secretKey }),
      KEYFRAME_KICK_SECRET: keys.kickSecret,
      KEYFRAME_ALLOW_LOCAL_WEBHOOKS: "1",
      DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}`,
    },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const ended = new AbortController();
  void child.status.then(() => ended.abort());
  await waitForPort(port, ended.signal);
  return {
    pid: child.pid,
    kick: async () => {
      const headers = sign(keys.kickSecret, `kick_${crypto.randomUUID()}`, new Date(), "{}");
      const response = await fetch(`http://127.0.0.1:${port}/deliver`, { method: "POST", headers, body: "{}" });
      await response.body?.cancel();
      if (response.status !== 202) throw new Error(`deliver answered ${response.status} to a kick.`);
    },
    close: async () => {
      child.kill("SIGTERM");
      await child.status;
    },
  };
}
