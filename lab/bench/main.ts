import { oneLine, parseOptions, runMain, stopSignals } from "../../command-line/run-main.ts";
import { readWorkers } from "../../local/stack/stack-settings.ts";
import { untilAborted } from "../../local/bounded-wait.ts";
import { apiBenchmark } from "./api-benchmark.ts";
import { type Benchmark, type Figures, isMet, type Result } from "./benchmark.ts";
import { coldBenchmark } from "./cold/cold-benchmark.ts";
import { deliverBenchmark } from "./deliver/deliver-benchmark.ts";
import { flowBenchmark } from "./flow-benchmark.ts";
import { growthBenchmark } from "./growth/growth-benchmark.ts";
import { describeMachine } from "./measure.ts";
import { memoryBenchmark } from "./memory/memory-benchmark.ts";
import { blockOf, costsTable, summaryTable, writeBlock } from "./report.ts";
import { shotTables } from "./shot/plans.ts";
import { shotBenchmark } from "./shot/shot-benchmark.ts";
import { type BenchStack, openBenchStack } from "./stack.ts";
import { LAB_FILES, type Lab, openVersion } from "./versions/open-version.ts";
import { compareWith, PART_NAMES } from "./versions/parts.ts";

const BENCHMARKS: Benchmark[] = [
  deliverBenchmark,
  apiBenchmark,
  flowBenchmark,
  growthBenchmark,
  coldBenchmark,
  memoryBenchmark,
  shotBenchmark,
];
const NAMES = BENCHMARKS.map(({ name }) => name);
const HELP = `npm run bench -- [NAME …] [options]   compares Keyframe with the alternatives

Run nothing else at the same time. Only ratios within one run are comparable.

  NAME       one of: ${NAMES.join(", ")}; without a name, all of them
  --write    runs all, then writes the aims and one shot into lab/aims.md, shots a day into docs/benchmarks.md, costs into docs/scale.md
  --quick    a short run of each, to check that it works
  --against  a commit: compares this checkout with that version instead. NAME is then one of: ${PART_NAMES.join(", ")}
  --workers  functions, or npm run worker in place of the two functions: process by the Data API, database by a connection

KEYFRAME_DATABASE_URL: a superuser's URL of an empty Postgres, to measure one benchmark with its real extensions.`;

async function main(): Promise<number> {
  const { values, positionals } = parseOptions({
    allowPositionals: true,
    options: {
      write: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      against: { type: "string" },
      workers: { type: "string" },
    },
  });
  const { against } = values;
  const names = against === undefined ? NAMES : PART_NAMES;
  const unknown = positionals.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new Error(`There is no benchmark "${unknown}". The benchmarks are: ${names.join(", ")}.`);
  if (against !== undefined && values.write) throw new Error("--write writes what is compared with the alternatives.");
  const workers = readWorkers("--workers", values.workers);
  if (workers !== "functions" && values.write) throw new Error("--write writes the figures of the functions.");
  if (values.quick && values.write) throw new Error("--quick measures too little to be written.");
  if (values.write && positionals.length > 0) throw new Error("--write writes one table of all: name no benchmark.");
  const databaseUrl = Deno.env.get("KEYFRAME_DATABASE_URL") || undefined;
  if (databaseUrl !== undefined && positionals.length !== 1)
    throw new Error("KEYFRAME_DATABASE_URL is for one benchmark: name it, and give each an empty database.");

  const machine = describeMachine();
  const signal = stopSignals();
  const version = against === undefined ? undefined : await openVersion<Lab>(against, LAB_FILES, signal);
  const benchmarks = version === undefined ? BENCHMARKS : compareWith(version.lab);
  const results: Record<string, Result> = {};
  const failed: Record<string, string> = {};
  for (const { name, run } of benchmarks) {
    if ((positionals.length > 0 && !positionals.includes(name)) || signal.aborted) continue;
    const began = performance.now();
    const stacks: Promise<BenchStack>[] = [];
    const openStack = async (open = openBenchStack) => {
      if (databaseUrl !== undefined && stacks.length > 0)
        throw new Error("KEYFRAME_DATABASE_URL is one database, and this benchmark compares two.");
      const stack = open({ signal, databaseUrl, workers });
      stacks.push(stack);
      return await stack;
    };
    const progress = (text: string) => console.error(`${name}: ${text}`);
    try {
      const result = await untilAborted(signal, run({ quick: values.quick, openStack, progress }));
      results[name] = result;
      console.log(`\n## ${name}\n\n${blockOf(result, machine)}\n`);
    } catch (error) {
      failed[name] = oneLine(error);
      if (!signal.aborted) console.error(error);
    }
    for (const stack of stacks) await stack.then(({ stop }) => stop()).catch(() => undefined); // its error has been reported
    progress(`took ${((performance.now() - began) / 1000).toFixed(0)} s`);
  }
  await version?.remove();
  if (version) console.log(`\n${blockOf({ aims: [], tables: [summaryTable(results)] }, machine)}\n`);

  const costs = Object.values(results).flatMap((result) => result.costs ?? []);
  const isWhole = Object.keys(results).length === BENCHMARKS.length;
  if (values.write && isWhole) {
    await writeBlock("lab/aims.md", "aims", blockOf({ aims: [], tables: [summaryTable(results)] }, machine));
    // Without processor times, off Linux, neither can be computed.
    if (costs.length > 0) {
      const figures = Object.assign({}, ...Object.values(results).map((result) => result.figures)) as Figures; // all have run
      const [plans, shot] = shotTables(figures);
      await writeBlock("docs/benchmarks.md", "shots", blockOf({ aims: [], tables: [plans] }, machine));
      await writeBlock("lab/aims.md", "shot", blockOf({ aims: [], tables: [shot] }, machine));
      await writeBlock("docs/scale.md", "costs", blockOf({ aims: [], tables: [costsTable(costs)] }, machine));
    }
  }
  const aims = Object.values(results).flatMap((result) => result.aims);
  console.log(`${aims.filter(isMet).length} of ${aims.length} aims met.`);
  for (const [name, why] of Object.entries(failed)) console.error(`${name} failed: ${why}`);
  return signal.aborted || Object.keys(failed).length > 0 ? 1 : 0;
}

runMain(HELP, main);
