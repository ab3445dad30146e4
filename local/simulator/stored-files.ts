import { ExpiringStore, type StoredBytes } from "./expiring-store.ts";
import { randomId, type RandomBytes } from "./random-id.ts";
import type { SimulatedClock } from "./simulated-clock.ts";

const lifetimeMs = 24 * 3_600_000;
const maxHeldBytes = 256 * 1024 * 1024;

export type StoredFile = StoredBytes & { id: string; name: string; sha256: string; createdAt: Date; metadata: unknown };

/** The provider's files API: uploads that predictions may name as inputs, kept for a day. */
export class StoredFiles {
  readonly #files = new ExpiringStore<StoredFile>(maxHeldBytes);
  readonly #clock: SimulatedClock;
  readonly #random: RandomBytes;

  constructor(clock: SimulatedClock, random: RandomBytes) {
    this.#clock = clock;
    this.#random = random;
  }

  async create(content: File, metadata: unknown): Promise<StoredFile> {
    const bytes = new Uint8Array(await content.arrayBuffer());
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const file: StoredFile = {
      id: randomId(this.#random),
      name: content.name,
      bytes,
      contentType: content.type || "application/octet-stream",
      sha256: Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join(""),
      createdAt: this.#clock.wall(),
      expiresAt: this.#clock.now() + lifetimeMs,
      metadata,
    };
    this.#files.put(file.id, file);
    return file;
  }

  get(id: string): StoredFile | null {
    return this.#files.get(id, this.#clock.now());
  }

  list(): StoredFile[] {
    return this.#files
      .list(this.#clock.now())
      .map(([, file]) => file)
      .reverse();
  }

  delete(id: string): boolean {
    return this.#files.delete(id);
  }

  sweep(): void {
    this.#files.sweep(this.#clock.now());
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
