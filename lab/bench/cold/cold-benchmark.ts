import { freePort } from "../../local/network.ts";
import { describeFunction } from "../../local/stack/describe-children.ts";
import { FUNCTION_NAMES, type FunctionName } from "../../local/stack/function-arguments.ts";
import { loadStackKeys } from "../../local/stack/stack-keys.ts";
import { pause } from "../../shared/platform/pause.ts";
import type { BenchContext, Benchmark, Result } from "./benchmark.ts";
import { measureInTurn, ratioOf, spreadOf } from "./measure.ts";
import { type BenchProcess, listensOn, spawnDeno } from "./processes.ts";
import { startWritten } from "./written/open-written.ts";

const ROUNDS = 15;
const QUICK_ROUNDS = 2;
const WRITTEN = "the written function";

export const coldBenchmark: Benchmark = { name: "cold", run: measureCold };

/** Never reached: the timed request is refused before. */
const NOWHERE = { dataDir: "", url: "http://127.0.0.1:9", port: 9, simulatorPort: 9 };

async function measureCold({ quick, progress }: BenchContext): Promise<Result> {
  const folder = await Deno.makeTempDir({ prefix: "keyframe-bench-" });
  const keys = await loadStackKeys(folder).finally(() => Deno.remove(folder, { recursive: true }));
  const startOurs = (name: FunctionName) => (port: number) => {
    const { args, env } = describeFunction({ ...NOWHERE, keys, functionPorts: { [name]: port } }, name);
    return spawnDeno(args, { ...env, ...listensOn(port) });
  };
  const ways = Object.fromEntries([
    ...FUNCTION_NAMES.map((name) => {
      const path = name === "api" ? "api/projects" : name;
      return [name, () => measureFirstAnswer(path, startOurs(name))] as const;
    }),
    [WRITTEN, () => measureFirstAnswer("written/projects", startWritten)] as const,
  ]);
  await measureInTurn(ways, 1, () => undefined); // fills the disk cache and Deno's cache of compiled code
  const took: Record<string, number[]> = await measureInTurn(ways, quick ? QUICK_ROUNDS : ROUNDS, progress);
  return {
    aims: FUNCTION_NAMES.map((name) => ({
      name: `first answer of ${name} in ms ÷ the written function's`,
      value: ratioOf(took[name] ?? [], took[WRITTEN] ?? []),
      atMost: 1.2,
    })),
    tables: [
      {
        caption: "from the start of a process",
        columns: ["first answer, ms"],
        rows: Object.entries(took).map(([name, ms]) => ({ name, cells: [spreadOf(ms)] })),
      },
    ],
  };
}

const POLL_MS = 2;
const TIMEOUT_MS = 20_000;

/** ms from the start of a process to its first answer: 401, which needs no other service. */
async function measureFirstAnswer(path: string, start: (port: number) => BenchProcess): Promise<number> {
  const port = freePort();
  const began = performance.now();
  const child = start(port);
  try {
    for (;;) {
      const request = { method: "POST", body: "{}" };
      const response = await fetch(`http://127.0.0.1:${port}/${path}`, request).catch(() => null);
      const took = performance.now() - began;
      await response?.body?.cancel();
      if (response?.status === 401) return took;
      if (response !== null || child.ended.aborted || took > TIMEOUT_MS)
        throw new Error(`${path} answered ${response?.status ?? "nothing"} instead of 401.`);
      await pause(POLL_MS);
    }
  } finally {
    await child.stop();
  }
}
