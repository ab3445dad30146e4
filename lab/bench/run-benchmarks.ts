import { oneLine } from "../../local/stack/command-line.ts";
import type { BenchContext, Benchmark, Result } from "./benchmark.ts";
import type { OpenBenchStack, SharedStack } from "./stack.ts";

type Outcome = {
  results: Record<string, Result>;
  /** Why a benchmark has no result, by name. */
  failed: Record<string, string>;
};

/** Runs benchmarks one after the other. A failed one does not affect the others; an abort skips the rest. */
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

/** How long an aborted benchmark may take to clean up after its stacks are stopped. */
const GRACE_MS = 5_000;

type RunSettings = {
  quick: boolean;
  shared: SharedStack;
  startOwn: () => Promise<OpenBenchStack>;
  /** Stops it. */
  signal: AbortSignal;
  graceMs?: number;
};

/**
 * Runs one benchmark and stops its own stacks. Rejects with its error or the signal's reason, after stopping the
 * shared stack too, whose state is then unknown.
 */
async function runBenchmark(benchmark: Benchmark, settings: RunSettings): Promise<Result> {
  const { quick, shared, startOwn, signal, graceMs = GRACE_MS } = settings;
  const own: Promise<OpenBenchStack>[] = [];
  const context: BenchContext = {
    quick,
    stack: () => shared.open(),
    ownStack: async () => {
      const starting = startOwn();
      own.push(starting);
      return (await starting).stack;
    },
    progress: (text) => console.error(`${benchmark.name}: ${text}`),
  };
  const endOwn = async () => {
    for (const starting of own) await (await starting.catch(() => undefined))?.end();
  };
  signal.throwIfAborted();
  const interruption = waitForInterruption(signal);
  const running = benchmark.run(context);
  try {
    const result = await Promise.race([running, interruption.promise]);
    await endOwn();
    return result;
  } catch (error) {
    await Promise.all([endOwn(), shared.end()]);
    await settledWithin(running, graceMs);
    throw error;
  } finally {
    interruption.release();
  }
}

/** Rejects on abort, or with an uncaught error of the benchmark, which would end the process. */
function waitForInterruption(signal: AbortSignal): { promise: Promise<never>; release(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined); // the race may be over
  const stop = () => reject(signal.reason);
  const stray = (event: PromiseRejectionEvent | ErrorEvent) => {
    event.preventDefault();
    reject(event instanceof ErrorEvent ? event.error : event.reason);
  };
  signal.addEventListener("abort", stop);
  globalThis.addEventListener("unhandledrejection", stray);
  globalThis.addEventListener("error", stray);
  return {
    promise,
    release: () => {
      signal.removeEventListener("abort", stop);
      globalThis.removeEventListener("unhandledrejection", stray);
      globalThis.removeEventListener("error", stray);
    },
  };
}

async function settledWithin(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => undefined), patience]);
  clearTimeout(timer);
}
