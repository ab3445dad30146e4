import { ExpiringStore, type StoredBytes } from "./expiring-store.ts";
import type { FaultName } from "./faults.ts";
import { randomId, type RandomBytes } from "./random-id.ts";
import type { SimulatedClock } from "./simulated-clock.ts";

const maxHeldBytes = 512 * 1024 * 1024;

export type Output = StoredBytes & { faults: ReadonlyMap<FaultName, string>; downloads: number };
export type OutputBytes = { bytes: Uint8Array; contentType: string; extension: string };

/** The finished files, each behind an address that cannot be guessed, until they expire. */
export class Outputs {
  readonly #outputs = new ExpiringStore<Output>(maxHeldBytes);
  readonly #clock: SimulatedClock;
  readonly #random: RandomBytes;
  readonly #lifetimeMs: number;

  constructor(clock: SimulatedClock, random: RandomBytes, lifetimeMs: number) {
    this.#clock = clock;
    this.#random = random;
    this.#lifetimeMs = lifetimeMs;
  }

  /** Keeps a file and returns the path it is served at: `/delivery/<random>/out-<index>.<extension>`. */
  put({ bytes, contentType, extension }: OutputBytes, index: number, faults: ReadonlyMap<FaultName, string>): string {
    const path = `/delivery/${randomId(this.#random)}${randomId(this.#random)}/out-${index}.${extension}`;
    const expiresAt = this.#clock.now() + this.#lifetimeMs;
    this.#outputs.put(path, { bytes, contentType, expiresAt, faults, downloads: 0 });
    return path;
  }

  get(path: string): Output | null {
    return this.#outputs.get(path, this.#clock.now());
  }

  sweep(): void {
    this.#outputs.sweep(this.#clock.now());
  }
}
