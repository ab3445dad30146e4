import { oneLine } from "../../local/stack/command-line.ts";
import type { Benchmark, Result } from "./benchmark.ts";
import { type RunSettings, runBenchmark } from "./run-benchmark.ts";

export type Outcome = {
  results: Record<string, Result>;
  /** Why a benchmark has no result, by its name. */
  failed: Record<string, string>;
};

/** Runs benchmarks one after the other. One that fails takes nothing from the others; a stop leaves out what would follow. */
export async function runBenchmarks(
  benchmarks: Benchmark[],
  settings: RunSettings & { onResult: (benchmark: Benchmark, result: Result) => Promise<void> },
): Promise<Outcome> {
  const { signal, onResult } = settings;
  const outcome: Outcome = { results: {}, failed: {} };
  for (const benchmark of benchmarks) {
    if (signal.aborted) break;
    const began = performance.now();
    try {
      const result = await runBenchmark(benchmark, settings);
      console.error(`${benchmark.name}: took ${((performance.now() - began) / 1000).toFixed(0)} s`);
      outcome.results[benchmark.name] = result;
      await onResult(benchmark, result);
    } catch (error) {
      outcome.failed[benchmark.name] = oneLine(error);
      if (!signal.aborted) console.error(error);
    }
  }
  return outcome;
}
