import { stopSignals } from "../../local/stack/command-line.ts";
import { runMain } from "../../tools/command-line.ts";
import { readBenchArguments } from "./bench-arguments.ts";
import { type Benchmark, isMet, type Result } from "./benchmark.ts";
import { BENCHMARKS } from "./benchmarks.ts";
import { describeMachine } from "./measure.ts";
import { benchmarkMarkdown, writeResult } from "./report.ts";
import { runBenchmarks } from "./run-benchmarks.ts";
import { SharedStack, startBenchStack } from "./stack.ts";

const NAMES = BENCHMARKS.map(({ name }) => name);
const HELP = `npm run bench -- [NAME …] [options]   measures this project beside what one would pick instead

The tables go into docs/benchmarks.md. Only ratios within one run are comparable; run nothing else beside it.

  NAME       one of: ${NAMES.join(", ")}
  --quick    less of everything, under a minute; writes nothing
  --json     one line of JSON last, with all figures

KEYFRAME_DATABASE_URL: a superuser's address of an empty Postgres to measure on, with the extensions that are real there.`;

// postgres.js rejects some queries outside of any promise when Postgres ends, also after the benchmark has.
for (const event of ["unhandledrejection", "error"] as const) {
  globalThis.addEventListener(event, (problem) => {
    const error: unknown = problem instanceof ErrorEvent ? problem.error : problem.reason;
    const isDrivers = error instanceof Error && (error.stack ?? "").includes("node_modules/postgres/");
    if (isDrivers) problem.preventDefault();
  });
}

async function main(): Promise<number> {
  const { names, quick, json, help } = readBenchArguments(Deno.args, NAMES);
  if (help) {
    console.log(HELP);
    return 0;
  }
  const signal = stopSignals();
  const machine = describeMachine();
  const databaseUrl = Deno.env.get("KEYFRAME_DATABASE_URL") || undefined;
  const shared = new SharedStack(() => startBenchStack(signal, databaseUrl));
  const { results, failed } = await runBenchmarks(
    BENCHMARKS.filter(({ name }) => names.includes(name)),
    {
      quick,
      shared,
      startOwn: () => startBenchStack(signal),
      signal,
      onResult: async (benchmark, result) => {
        print(benchmark, result);
        if (!quick) await writeResult(benchmark, result, machine);
      },
    },
  ).finally(() => shared.end());

  const aims = Object.values(results).flatMap((result) => result.aims);
  console.log(`${aims.filter(isMet).length} of ${aims.length} aims met.`);
  for (const [name, why] of Object.entries(failed)) console.error(`${name} failed: ${why}`);
  if (json) console.log(JSON.stringify({ ...machine, quick, results, failed }));
  return signal.aborted || Object.keys(failed).length > 0 ? 1 : 0;
}

function print(benchmark: Benchmark, result: Result): void {
  console.log(`\n## ${benchmark.title}\n\n${benchmarkMarkdown(benchmark, result)}\n`);
}

runMain(main);
