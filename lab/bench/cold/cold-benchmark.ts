import { fileURLToPath } from "node:url";
import { freePort } from "../../../local/network.ts";
import { describeFunction } from "../../../local/stack/describe-children.ts";
import { FUNCTION_NAMES, type FunctionName } from "../../../local/stack/function-arguments.ts";
import { loadStackKeys, type StackKeys } from "../../../local/stack/stack-keys.ts";
import { pause } from "../../../shared/platform/retry.ts";
import type { BenchContext, Benchmark, Result } from "../benchmark.ts";
import { measureInTurn, ratioOf } from "../measure.ts";
import { spawnDeno } from "../processes.ts";

const ROUNDS = 15;
const QUICK_ROUNDS = 1;
const BARE = "Hono and supabase-js alone";

export const coldBenchmark: Benchmark = { name: "cold", run: measureCold };

/** Never reached: the timed request is refused before. */
const NOWHERE = { dataDir: "", url: "http://127.0.0.1:9", port: 9, simulatorPort: 9 };

async function measureCold({ quick, progress }: BenchContext): Promise<Result> {
  const folder = await Deno.makeTempDir({ prefix: "keyframe-bench-" });
  const keys = await loadStackKeys(folder).finally(() => Deno.remove(folder, { recursive: true }));
  const bareFile = fileURLToPath(new URL("bare-function.ts", import.meta.url));
  const ways = Object.fromEntries([
    ...FUNCTION_NAMES.map((name) => [name, () => measureFirstAnswer(keys, name)] as const),
    [BARE, () => measureFirstAnswer(keys, "api", bareFile)] as const,
  ]);
  if (!quick) await measureInTurn(ways, 1, () => undefined); // fills the disk cache and Deno's cache of compiled code
  const took: Record<string, number[]> = await measureInTurn(ways, quick ? QUICK_ROUNDS : ROUNDS, progress);
  return {
    aims: FUNCTION_NAMES.map((name) => ({
      name: `first answer of ${name} in ms ÷ the bare function's`,
      value: ratioOf(took[name] ?? [], took[BARE] ?? []),
      atMost: 1.2,
    })),
  };
}

const POLL_MS = 2;
const TIMEOUT_MS = 20_000;

/**
 * ms from the start of a process, as the stack starts it, to its first answer: 401, which needs no other service. With
 * `file`, another function with that one's arguments, permissions and packages.
 */
async function measureFirstAnswer(keys: StackKeys, name: FunctionName, file?: string): Promise<number> {
  const port = freePort();
  const { args, env } = describeFunction({ ...NOWHERE, keys, functionPorts: { [name]: port } }, name);
  const url = `http://127.0.0.1:${port}/${name === "api" ? "api/projects" : name}`;
  const began = performance.now();
  const child = spawnDeno(file === undefined ? args : [...args.slice(0, -1), file], env);
  try {
    for (;;) {
      const response = await fetch(url, { method: "POST", body: "{}" }).catch(() => null);
      const took = performance.now() - began;
      await response?.body?.cancel();
      if (response?.status === 401) return took;
      if (response !== null || child.ended.aborted || took > TIMEOUT_MS)
        throw new Error(`${file ?? name} answered ${response?.status ?? "nothing"} instead of 401.`);
      await pause(POLL_MS);
    }
  } finally {
    await child.stop();
  }
}
