import type { ChildProcess } from "./child-process.ts";

/** What has started so far, and how it ends: first the children, all at once, then what they stand on, last begun first ended. */
export class Teardown {
  readonly children = new Map<string, ChildProcess>();
  readonly #ends: (() => Promise<void>)[] = [];
  #done: Promise<void> | undefined;

  /** Registers what ends after all children and after whatever is registered later. */
  last(end: () => Promise<void>): void {
    this.#ends.push(end);
  }

  async stopChildren(): Promise<void> {
    await Promise.all([...this.children.values()].map((child) => child.stop()));
  }

  /** May be called twice. One end that fails does not keep the others from ending. */
  run(): Promise<void> {
    this.#done ??= this.#run();
    return this.#done;
  }

  async #run(): Promise<void> {
    await this.stopChildren();
    for (const end of this.#ends.reverse()) await end().catch(() => undefined);
  }
}
