import { readBenchArguments } from "./bench-arguments.ts";
import { type Benchmark, isMet, type Result } from "./benchmark.ts";
import { BENCHMARKS } from "./benchmarks.ts";
import { describeMachine } from "./measure/machine.ts";
import { writeResult } from "./report/document.ts";
import { benchmarkMarkdown } from "./report/markdown.ts";
import { runBenchmark, SharedStack } from "./run-benchmark.ts";

const HELP = `npm run bench [-- NAME …] [--quick] [--json]

Measures this project beside what one would pick instead, on this machine, and writes tables and plots into docs/benchmarks.md.
Only ratios within one run say something; let nothing else run beside it.

  NAME       one of: ${BENCHMARKS.map(({ name }) => name).join(", ")}
  --quick    less of everything, under a minute; writes nothing
  --json     one line of JSON last, with all figures

KEYFRAME_DATABASE_URL: a superuser's address of an empty Postgres to measure on, with the extensions that are real there.`;

async function main(): Promise<void> {
  const { names, quick, json, help } = readBenchArguments(
    Deno.args,
    BENCHMARKS.map(({ name }) => name),
  );
  if (help) return console.log(HELP);
  const machine = describeMachine();
  const shared = new SharedStack(Deno.env.get("KEYFRAME_DATABASE_URL"));
  const results: Record<string, Result> = {};
  try {
    for (const benchmark of BENCHMARKS.filter(({ name }) => names.includes(name))) {
      const result = await runBenchmark(benchmark, shared, quick);
      results[benchmark.name] = result;
      print(benchmark, result);
      if (!quick) await writeResult(benchmark, result, machine);
    }
  } finally {
    await shared.end();
  }
  const aims = Object.values(results).flatMap((result) => result.aims);
  console.log(`${aims.filter(isMet).length} of ${aims.length} aims met.`);
  if (json) console.log(JSON.stringify({ ...machine, quick, results }));
}

function print(benchmark: Benchmark, result: Result): void {
  console.log(`\n## ${benchmark.title}\n\n${benchmarkMarkdown(benchmark, result, [])}\n`);
}

try {
  await main();
  Deno.exit(0);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  Deno.exit(1);
}
