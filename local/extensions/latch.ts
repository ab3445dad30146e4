/** A flag that one loop waits for: set while nobody waits, it ends the next wait at once. */
export class Latch {
  #isSet = false;
  #wake: (() => void) | undefined;

  set(): void {
    this.#isSet = true;
    this.#wake?.();
  }

  /** Returns when the flag is set, after `timeoutMs`, or when `signal` is aborted, and clears the flag. */
  async wait(signal: AbortSignal, timeoutMs?: number): Promise<void> {
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
    this.#isSet = false;
  }
}
