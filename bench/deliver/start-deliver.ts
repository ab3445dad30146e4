import { functionArguments } from "../../local/stack/function-arguments.ts";
import { waitForPort } from "../../local/stack/wait-for-port.ts";
import { freePort } from "../../local/postgres/free-port.ts";
import { sign } from "../../shared/signature.ts";
import type { BenchStack } from "../bench-stack.ts";

export type DeliverProcess = {
  /** Has it look for what is due, as Postgres does. */
  kick(): Promise<void>;
  close(): Promise<void>;
};

/** One more deliver function beside the stack's own, with the same rights, as the hosted platform starts them when it likes. */
export async function startDeliver({ url, keys }: BenchStack, flags: string[] = []): Promise<DeliverProcess> {
  const port = freePort();
  const [command = "", ...args] = functionArguments("deliver", port, "anywhere");
  const child = new Deno.Command(Deno.execPath(), {
    args: [command, ...flags, ...args],
    env: {
      SUPABASE_URL: url,
      SUPABASE_SECRET_KEYS: JSON.stringify({ default: keys.secretKey }),
      KICK_SECRET: keys.kickSecret,
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
