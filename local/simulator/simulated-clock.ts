import { pause } from "../../shared/platform/retry.ts";

/**
 * The simulator's time: the real clock, which tests can move forward; what becomes due happens at once. What others compare with
 * their own clocks (created_at, webhook-timestamp) has the real time.
 */
export class SimulatedClock {
  #ahead = 0;
  #moved = new AbortController();

  /** Simulated milliseconds since 1970. */
  now(): number {
    return Date.now() + this.#ahead;
  }

  /** Resolves after `ms` simulated milliseconds; rejects with the signal's reason when it is aborted first. */
  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    const due = this.now() + ms;
    for (let left = ms; left > 0; left = due - this.now()) {
      await pause(left, signal ? AbortSignal.any([signal, this.#moved.signal]) : this.#moved.signal);
      signal?.throwIfAborted();
    }
  }

  advance(ms: number): void {
    this.#ahead += ms;
    const moved = this.#moved;
    this.#moved = new AbortController();
    moved.abort();
  }
}
