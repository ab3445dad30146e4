type Wait = { due: number; timer: ReturnType<typeof setTimeout> | undefined; fire: () => void };

/**
 * The simulator's time. It runs with the real clock and can be moved ahead: whatever falls due by that happens at once.
 * `wall` stays real, for what others compare with their own clocks (created_at, webhook-timestamp).
 */
export class SimulatedClock {
  #ahead = 0;
  readonly #waits = new Set<Wait>();
  readonly #wall: () => number;

  constructor(wall: () => number = Date.now) {
    this.#wall = wall;
  }

  /** Milliseconds since 1970 as the simulator counts them. */
  now(): number {
    return this.#wall() + this.#ahead;
  }

  /** The real time. */
  wall(): Date {
    return new Date(this.#wall());
  }

  /** Calls `fire` once after `ms` simulated milliseconds, unless the returned function is called before. */
  after(ms: number, fire: () => void): () => void {
    const wait: Wait = { due: this.now() + ms, timer: undefined, fire };
    wait.timer = setTimeout(() => this.#end(wait), Math.max(0, ms));
    this.#waits.add(wait);
    return () => this.#drop(wait);
  }

  /** Resolves after `ms`; rejects with the signal's reason when that is aborted first. */
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

  /** Moves the clock ahead and lets happen what has become due, in its order. */
  advance(ms: number): void {
    this.#ahead += ms;
    const due = [...this.#waits].filter((wait) => wait.due <= this.now()).sort((a, b) => a.due - b.due);
    for (const wait of due) this.#end(wait);
    // What is still to come is nearer now than its timer knows.
    for (const wait of this.#waits) {
      clearTimeout(wait.timer);
      wait.timer = setTimeout(() => this.#end(wait), Math.max(0, wait.due - this.now()));
    }
  }

  /** Forgets all that is still to come, so that no timer keeps the process alive. */
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
