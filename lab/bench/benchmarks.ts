import { apiBenchmark } from "./api/api-benchmark.ts";
import type { Benchmark } from "./benchmark.ts";
import { coldBenchmark } from "./cold/cold-benchmark.ts";
import { costsBenchmark } from "./costs/costs-benchmark.ts";
import { dashboardBenchmark } from "./dashboard/dashboard-benchmark.ts";
import { memoryBenchmark } from "./memory/memory-benchmark.ts";
import { deliverBenchmark } from "./deliver/deliver-benchmark.ts";
import { flowBenchmark } from "./flow/flow-benchmark.ts";
import { growthBenchmark } from "./growth/growth-benchmark.ts";
import { isolationBenchmark } from "./isolation/isolation-benchmark.ts";
import { latencyBenchmark } from "./latency/latency-benchmark.ts";
import { parallelBenchmark } from "./parallel/parallel-benchmark.ts";
import { pollBenchmark } from "./poll/poll-benchmark.ts";

/** All benchmarks, in the order in which they run. */
export const BENCHMARKS: Benchmark[] = [
  deliverBenchmark,
  isolationBenchmark,
  latencyBenchmark,
  parallelBenchmark,
  apiBenchmark,
  pollBenchmark,
  flowBenchmark,
  coldBenchmark,
  growthBenchmark,
  memoryBenchmark,
  costsBenchmark,
  dashboardBenchmark,
];
