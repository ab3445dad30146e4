import type { Benchmark, BenchContext, Result } from "./benchmark.ts";
import { type BenchStack, startBenchStack } from "./bench-stack.ts";

/** Starts the stack that benchmarks share when the first of them asks for it. */
export class SharedStack {
  #started: Promise<{ stack: BenchStack; end(): Promise<void> }> | undefined;
  readonly #databaseUrl: string | undefined;

  constructor(databaseUrl: string | undefined) {
    this.#databaseUrl = databaseUrl;
  }

  async open(): Promise<BenchStack> {
    this.#started ??= startBenchStack(this.#databaseUrl);
    return (await this.#started).stack;
  }

  async end(): Promise<void> {
    await (await this.#started)?.end();
  }
}

/** Runs one benchmark and ends the stacks of its own. */
export async function runBenchmark(benchmark: Benchmark, shared: SharedStack, quick: boolean): Promise<Result> {
  const ends: (() => Promise<void>)[] = [];
  const context: BenchContext = {
    quick,
    stack: () => shared.open(),
    ownStack: async () => {
      const { stack, end } = await startBenchStack();
      ends.push(end);
      return stack;
    },
    progress: (text) => console.error(`${benchmark.name}: ${text}`),
  };
  try {
    return await benchmark.run(context);
  } finally {
    for (const end of ends) await end();
  }
}
