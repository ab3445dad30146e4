import { apiBenchmark } from "./api/api-benchmark.ts";
import type { Benchmark } from "./benchmark.ts";
import { coldBenchmark } from "./cold/cold-benchmark.ts";
import { dashboardBenchmark } from "./dashboard-benchmark.ts";
import { memoryBenchmark } from "./memory/memory-benchmark.ts";
import { deliverBenchmark } from "./deliver/deliver-benchmark.ts";
import { flowBenchmark } from "./flow/flow-benchmark.ts";
import { growthBenchmark } from "./growth/growth-benchmark.ts";
import { isolationBenchmark } from "./deliver/isolation-benchmark.ts";
import { latencyBenchmark } from "./deliver/latency-benchmark.ts";

/** All benchmarks, in the order of their runs. */
export const BENCHMARKS: Benchmark[] = [
  deliverBenchmark,
  isolationBenchmark,
  latencyBenchmark,
  apiBenchmark,
  flowBenchmark,
  coldBenchmark,
  growthBenchmark,
  memoryBenchmark,
  dashboardBenchmark,
];
