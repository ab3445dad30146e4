import type { OpenBenchStack } from "./bench-stack.ts";
import type { Benchmark, BenchContext, Result } from "./benchmark.ts";
import type { SharedStack } from "./shared-stack.ts";

/** How long a benchmark that was stopped may take to put its own things in order, its stacks being gone. */
const GRACE_MS = 5_000;

export type RunSettings = {
  quick: boolean;
  shared: SharedStack;
  startOwn: () => Promise<OpenBenchStack>;
  /** Stops it. */
  signal: AbortSignal;
  graceMs?: number;
};

/**
 * Runs one benchmark and ends the stacks of its own. Rejects with what it fails with, or with the signal's reason; then the
 * shared stack has ended too, for nobody knows in which state it was left.
 */
export async function runBenchmark(benchmark: Benchmark, settings: RunSettings): Promise<Result> {
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

/** Rejects when the signal is aborted, or with an error that the benchmark left to nobody, which would end the process. */
function waitForInterruption(signal: AbortSignal): { promise: Promise<never>; release(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined); // when nobody waits for it any more
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
