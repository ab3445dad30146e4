import type { Benchmark } from "./benchmark.ts";

/** All benchmarks, in the order in which they run. */
export const BENCHMARKS: Benchmark[] = [];
