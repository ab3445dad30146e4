/** Bytes the simulator holds for a while: outputs and uploaded files. */
export type StoredBytes = { bytes: Uint8Array; contentType: string; expiresAt: number };

/** Holds bytes under a key until they expire, and never more than `maxBytes` in all: then the oldest go first. */
export class ExpiringStore<Item extends StoredBytes> {
  readonly #items = new Map<string, Item>();
  readonly #maxBytes: number;
  #held = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  put(key: string, item: Item): void {
    this.#items.set(key, item);
    this.#held += item.bytes.length;
    for (const oldest of this.#items.keys()) {
      if (this.#held <= this.#maxBytes || oldest === key) break;
      this.delete(oldest);
    }
  }

  get(key: string, now: number): Item | null {
    const item = this.#items.get(key);
    return item && item.expiresAt > now ? item : null;
  }

  list(now: number): [string, Item][] {
    return [...this.#items].filter(([, item]) => item.expiresAt > now);
  }

  delete(key: string): boolean {
    const item = this.#items.get(key);
    if (item) this.#held -= item.bytes.length;
    return this.#items.delete(key);
  }

  sweep(now: number): void {
    for (const [key, item] of this.#items) if (item.expiresAt <= now) this.delete(key);
  }
}
