import type { FaultName } from "./faults.ts";
import { randomId } from "./random.ts";
import type { SimulatedClock } from "./simulated-clock.ts";

/** An output or an uploaded file. */
type StoredBytes = { bytes: Uint8Array; contentType: string; expiresAt: number };

/** Keeps files by key until they expire. Above `maxBytes` in total it removes the oldest. */
class ExpiringStore<Item extends StoredBytes> {
  protected readonly clock: SimulatedClock;
  readonly #items = new Map<string, Item>();
  readonly #maxBytes: number;
  #held = 0;

  constructor(clock: SimulatedClock, maxBytes: number) {
    this.clock = clock;
    this.#maxBytes = maxBytes;
  }

  protected put(key: string, item: Item): void {
    this.#items.set(key, item);
    this.#held += item.bytes.length;
    for (const oldest of this.#items.keys()) {
      if (this.#held <= this.#maxBytes || oldest === key) break;
      this.#delete(oldest);
    }
  }

  get(key: string): Item | null {
    const item = this.#items.get(key);
    return item && item.expiresAt > this.clock.now() ? item : null;
  }

  sweep(): void {
    for (const [key, item] of this.#items) if (item.expiresAt <= this.clock.now()) this.#delete(key);
  }

  #delete(key: string): void {
    this.#held -= this.#items.get(key)?.bytes.length ?? 0;
    this.#items.delete(key);
  }
}

const maxOutputBytes = 512 * 1024 * 1024;

export type Output = StoredBytes & { faults: ReadonlyMap<FaultName, string>; downloads: number };
export type OutputBytes = { bytes: Uint8Array; contentType: string; extension: string };

/** The output files, each at a URL that cannot be guessed, until they expire. */
export class Outputs extends ExpiringStore<Output> {
  readonly #lifetimeMs: number;

  constructor(clock: SimulatedClock, lifetimeMs: number) {
    super(clock, maxOutputBytes);
    this.#lifetimeMs = lifetimeMs;
  }

  /** Keeps a file and returns its path: `/delivery/<random>/out-<index>.<extension>`. */
  add({ bytes, contentType, extension }: OutputBytes, index: number, faults: ReadonlyMap<FaultName, string>): string {
    const path = `/delivery/${randomId()}${randomId()}/out-${index}.${extension}`;
    const expiresAt = this.clock.now() + this.#lifetimeMs;
    this.put(path, { bytes, contentType, expiresAt, faults, downloads: 0 });
    return path;
  }
}

const lifetimeMs = 24 * 3_600_000;
const maxUploadedBytes = 256 * 1024 * 1024;

type StoredFile = StoredBytes & { id: string; name: string; sha256: string; createdAt: Date; metadata: unknown };

/** The provider's files API: uploads for the inputs of predictions, kept for a day. */
export class StoredFiles extends ExpiringStore<StoredFile> {
  constructor(clock: SimulatedClock) {
    super(clock, maxUploadedBytes);
  }

  async create(content: File, metadata: unknown): Promise<StoredFile> {
    const bytes = new Uint8Array(await content.arrayBuffer());
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const file: StoredFile = {
      id: randomId(),
      name: content.name,
      bytes,
      contentType: content.type || "application/octet-stream",
      sha256: digest.toHex(),
      createdAt: this.clock.wall(),
      expiresAt: this.clock.now() + lifetimeMs,
      metadata,
    };
    this.put(file.id, file);
    return file;
  }
}

export function fileJson(file: StoredFile, baseUrl: string): Record<string, unknown> {
  return {
    id: file.id,
    name: file.name,
    content_type: file.contentType,
    size: file.bytes.length,
    etag: file.sha256.slice(0, 32),
    checksums: { sha256: file.sha256 },
    metadata: file.metadata,
    created_at: file.createdAt.toISOString(),
    expires_at: new Date(file.createdAt.getTime() + lifetimeMs).toISOString(),
    urls: { get: `${baseUrl}/v1/files/${file.id}` },
  };
}
