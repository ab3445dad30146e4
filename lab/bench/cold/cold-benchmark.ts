import { join } from "node:path";
import { describeFunction } from "../../../local/stack/describe-children.ts";
import { FUNCTION_NAMES, type FunctionName } from "../../../local/stack/function-arguments.ts";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { loadStackKeys, type StackKeys } from "../../../local/stack/stack-keys.ts";
import { Watchdog } from "../../../local/stack/child-process.ts";
import type { Aim, Benchmark, BenchContext, Result } from "../benchmark.ts";
import { measureInTurn, ratioOf, spreadOf } from "../measure.ts";
import { type FunctionSize, measureFirstAnswer, measureFunctionSize, type Program } from "./measure-function.ts";

const ROUNDS = 15;
const QUICK_ROUNDS = 2;
const AT_MOST = 1.5;

const BARE = "Hono and supabase-js alone";
const EMPTY = "an empty Deno.serve";

/** Never called: the timed request is refused before. */
const NOWHERE = "http://127.0.0.1:9";

export const coldBenchmark: Benchmark = {
  name: "cold",
  title: "The first answer of a function",
  work: `From the start of a function's process, as the stack starts it, to its first answer (401, so that nobody else is waited
for), each time a new process on a warm disk; and how large the function is. Beside a function of one route with Hono and supabase-js alone
(lab/bench/cold/bare), and one that is empty.`.replaceAll("\n", " "),
  run: measureCold,
};

async function measureCold({ quick, progress }: BenchContext): Promise<Result> {
  const dataDir = await Deno.makeTempDir({ prefix: "keyframe-bench-" });
  const watchdog = new Watchdog();
  try {
    const programs = describePrograms(await loadStackKeys(dataDir), dataDir, watchdog);
    const ways = Object.fromEntries(
      [...programs].map(([name, { program }]) => [name, () => measureFirstAnswer(program, watchdog)]),
    );
    await measureInTurn(ways, 1, () => undefined); // fills the disk cache and Deno's cache of compiled code
    const took = await measureInTurn(ways, quick ? QUICK_ROUNDS : ROUNDS, progress);
    const sizes = new Map<string, FunctionSize>();
    for (const [name, { file }] of programs) sizes.set(name, await measureFunctionSize(file));
    return describeResult(took, sizes);
  } finally {
    await watchdog.stop();
    await Deno.remove(dataDir, { recursive: true });
  }
}

function describePrograms(keys: StackKeys, dataDir: string, watchdog: Watchdog) {
  const described = (name: FunctionName, port: number) =>
    describeFunction(
      {
        dataDir,
        keys,
        url: NOWHERE,
        port: 9,
        simulatorPort: 9,
        functionPorts: Object.fromEntries(FUNCTION_NAMES.map((each) => [each, port])),
        watchdog,
      },
      name,
    );
  const ours = (name: FunctionName): Program => ({
    args: (port) => described(name, port).args,
    env: (port) => described(name, port).env,
    path: name === "api" ? "/api/projects" : `/${name}`,
  });
  // With api's arguments, permissions and packages, but another file.
  const peer = (file: string): Program => ({
    ...ours("api"),
    args: (port) => [...described("api", port).args.slice(0, -1), join(PROJECT_ROOT, file)],
    path: "/bare/projects",
  });
  const peerFiles = { [BARE]: "lab/bench/cold/bare/index.ts", [EMPTY]: "lab/bench/cold/empty/index.ts" };
  return new Map<string, { program: Program; file: string }>([
    ...FUNCTION_NAMES.map(
      (name) => [name, { program: ours(name), file: `supabase/functions/${name}/index.ts` }] as const,
    ),
    ...Object.entries(peerFiles).map(([name, file]) => [name, { program: peer(file), file }] as const),
  ]);
}

function describeResult(took: Record<string, number[]>, sizes: Map<string, FunctionSize>): Result {
  const once = (value: number) => spreadOf([value]);
  const size = (name: string): FunctionSize => sizes.get(name) ?? { graph: Number.NaN, minified: Number.NaN };
  const aims = FUNCTION_NAMES.flatMap((name): Aim[] => [
    {
      name: `first answer of ${name}, beside the bare one`,
      ratio: ratioOf(took[name] ?? [], took[BARE] ?? []),
      atMost: AT_MOST,
    },
    { name: `size of ${name}, beside the bare one`, ratio: once(size(name).graph / size(BARE).graph), atMost: AT_MOST },
  ]);
  return {
    aims,
    tables: [
      {
        caption: "from the start of its process to its first answer",
        unit: "ms",
        columns: ["first answer"],
        rows: Object.entries(took).map(([name, values]) => ({ name, cells: [spreadOf(values)] })),
      },
      {
        caption: "size",
        unit: "kB",
        columns: ["all its modules", "bundled and minified"],
        rows: [...sizes].map(([name, { graph, minified }]) => ({ name, cells: [once(graph), once(minified)] })),
      },
    ],
  };
}
