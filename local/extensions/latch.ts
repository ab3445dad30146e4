/** A flag that one loop waits for: set while nobody waits, it ends the next wait at once. */
export class Latch {
  #isSet = false;
  #wake: (() => void) | undefined;

  set(): void {
    this.#isSet = true;
    this.#wake?.();
  }

  /** Returns when the flag is set, after `timeoutMs`, or when `signal` is aborted; clears the flag and says whether it was set. */
  async wait(signal: AbortSignal, timeoutMs?: number): Promise<boolean> {
    if (!this.#isSet && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = timeoutMs === undefined ? undefined : setTimeout(resolve, timeoutMs);
      const end = () => resolve();
      signal.addEventListener("abort", end);
      this.#wake = resolve;
      await promise;
      this.#wake = undefined;
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    }
    const wasSet = this.#isSet;
    this.#isSet = false;
    return wasSet;
  }
}
