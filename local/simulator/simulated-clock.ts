type Wait = { due: number; timer: ReturnType<typeof setTimeout> | undefined; fire: () => void };

/**
 * The simulator's time: the real clock, which tests can move forward; what becomes due happens at once. `wall` is always the
 * real time, for what others compare with their own clocks (created_at, webhook-timestamp).
 */
export class SimulatedClock {
  #ahead = 0;
  readonly #waits = new Set<Wait>();

  /** Simulated milliseconds since 1970. */
  now(): number {
    return Date.now() + this.#ahead;
  }

  wall(): Date {
    return new Date();
  }

  /** Calls `fire` once after `ms` simulated milliseconds. The returned function cancels it. */
  after(ms: number, fire: () => void): () => void {
    const wait: Wait = { due: this.now() + ms, timer: undefined, fire };
    wait.timer = setTimeout(() => this.#end(wait), Math.max(0, ms));
    this.#waits.add(wait);
    return () => this.#drop(wait);
  }

  /** Resolves after `ms`; rejects with the signal's reason when it is aborted first. */
  wait(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = () => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = this.after(ms, () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      });
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** Moves the clock forward and fires what has become due, in order. */
  advance(ms: number): void {
    this.#ahead += ms;
    const due = [...this.#waits].filter((wait) => wait.due <= this.now()).sort((a, b) => a.due - b.due);
    for (const wait of due) this.#end(wait);
    // The other timers must fire earlier now.
    for (const wait of this.#waits) {
      clearTimeout(wait.timer);
      wait.timer = setTimeout(() => this.#end(wait), Math.max(0, wait.due - this.now()));
    }
  }

  /** Cancels all timers, so that none keeps the process alive. */
  stop(): void {
    for (const wait of [...this.#waits]) this.#drop(wait);
  }

  #end(wait: Wait): void {
    if (!this.#waits.has(wait)) return;
    this.#drop(wait);
    wait.fire();
  }

  #drop(wait: Wait): void {
    clearTimeout(wait.timer);
    this.#waits.delete(wait);
  }
}
