import { type Backoff, createBackoff } from "./backoff.ts";
import { type ChildOptions, type Run, runChild } from "./run-child.ts";

const STOP_PATIENCE_MS = 8_000;

export type SupervisedOptions = ChildOptions & {
  /** Told of each end that nobody asked for; it is started again. */
  onUnexpectedEnd: (line: string) => void;
};

/**
 * One child of the stack. When it dies unasked it is started again, as the hosted platform does, with growing pauses
 * while that does not help.
 */
export class ChildProcess {
  readonly #options: SupervisedOptions;
  readonly #stopping = new AbortController();
  readonly #backoff: Backoff = createBackoff();
  #process: Deno.ChildProcess | undefined;
  #supervised: Promise<void> | undefined;

  constructor(options: SupervisedOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts it and waits until it serves. Throws one line with the last it printed; then it has ended. */
  async start(): Promise<void> {
    const run = this.#launch();
    try {
      await run.ready;
    } catch (error) {
      this.kill("SIGKILL");
      await run.ended;
      throw error;
    }
    this.#supervised = this.#supervise(run);
  }

  /** Ends it with SIGTERM, and with SIGKILL when it does not listen. It does not come back. May be called twice. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const timer = setTimeout(() => this.kill("SIGKILL"), STOP_PATIENCE_MS);
    this.kill("SIGTERM");
    await this.#process?.status;
    await this.#supervised;
    clearTimeout(timer);
  }

  /** For fault tests: sends a signal; an ended child comes back by itself. */
  kill(signal: Deno.Signal): void {
    try {
      this.#process?.kill(signal);
    } catch {
      // It has ended already.
    }
  }

  async #supervise(first: Run): Promise<void> {
    let run = first;
    while (true) {
      const how = await run.ended;
      if (this.#stopping.signal.aborted) return;
      this.#options.onUnexpectedEnd(`${this.name} ended (${how}) and is started again`);
      await this.#backoff.pause(this.#stopping.signal);
      if (this.#stopping.signal.aborted) return;
      // Nothing waits between this check and the spawn in #launch, so stop() never misses a new process.
      run = this.#launch();
      run.ready.then(
        () => this.#backoff.served(),
        () => this.kill("SIGKILL"),
      );
    }
  }

  #launch(): Run {
    const run = runChild(this.#options);
    this.#process = run.process;
    run.ended.then(() => {
      if (this.#process === run.process) this.#process = undefined;
    });
    return run;
  }
}
