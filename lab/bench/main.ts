import { oneLine, stopSignals } from "../../local/stack/command-line.ts";
import { readBenchArguments } from "./bench-arguments.ts";
import { startBenchStack } from "./bench-stack.ts";
import { type Benchmark, isMet, type Result } from "./benchmark.ts";
import { BENCHMARKS } from "./benchmarks.ts";
import { describeMachine } from "./measure/machine.ts";
import { writeResult } from "./report/document.ts";
import { benchmarkMarkdown } from "./report/markdown.ts";
import { runBenchmarks } from "./run-benchmarks.ts";
import { SharedStack } from "./shared-stack.ts";

const NAMES = BENCHMARKS.map(({ name }) => name);
const HELP = `npm run bench -- [NAME …] [options]   measures this project beside what one would pick instead

Tables and plots go into docs/benchmarks.md, costs into docs/scale.md. Only ratios within one run say something; let nothing else run beside it.

  NAME       one of: ${NAMES.join(", ")}
  --quick    less of everything, under a minute; writes nothing
  --json     one line of JSON last, with all figures

KEYFRAME_DATABASE_URL: a superuser's address of an empty Postgres to measure on, with the extensions that are real there.`;

// The driver leaves some of its errors to nobody when Postgres ends under it, also after the benchmark that used it has.
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
  console.log(`\n## ${benchmark.title}\n\n${benchmarkMarkdown(benchmark, result, [])}\n`);
}

main().then(
  (code) => Deno.exit(code),
  (error: unknown) => {
    console.error(oneLine(error));
    Deno.exit(1);
  },
);
