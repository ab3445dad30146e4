import type { BenchStack, OpenBenchStack } from "./bench-stack.ts";

/** The stack that benchmarks share, started when the first of them asks for it. */
export class SharedStack {
  readonly #start: () => Promise<OpenBenchStack>;
  #started: Promise<OpenBenchStack> | undefined;

  constructor(start: () => Promise<OpenBenchStack>) {
    this.#start = start;
  }

  async open(): Promise<BenchStack> {
    this.#started ??= this.#start();
    return (await this.#started).stack;
  }

  /** Whoever asks next gets a new one. */
  async end(): Promise<void> {
    const started = this.#started;
    this.#started = undefined;
    await (await started?.catch(() => undefined))?.end();
  }
}
