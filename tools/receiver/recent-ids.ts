/** Remembers the last `most` identifiers, so that its memory is bounded however long it runs. */
export class RecentIds {
  readonly #ids = new Set<string>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Seen again counts as recent. */
  add(id: string): void {
    this.#ids.delete(id);
    this.#ids.add(id);
    if (this.#ids.size <= this.#most) return;
    // A Set keeps the order of insertion: the first one is the oldest.
    for (const oldest of this.#ids) {
      this.#ids.delete(oldest);
      return;
    }
  }
}
