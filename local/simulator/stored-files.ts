import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { FaultName } from "./faults.ts";
import { randomId } from "./random.ts";
import type { SimulatedClock } from "./simulated-clock.ts";

const HOUR_MS = 3_600_000;

/** Keeps files by key, in memory, until they expire. */
class ExpiringStore<Item extends { expiresAt: number }> {
  readonly #items = new Map<string, Item>();

  constructor(protected readonly clock: SimulatedClock) {}

  protected put(key: string, item: Item): void {
    this.#items.set(key, item);
  }

  get(key: string): Item | undefined {
    for (const [name, { expiresAt }] of this.#items) if (expiresAt <= this.clock.now()) this.#items.delete(name);
    return this.#items.get(key);
  }
}

/** The output of a run. */
export type OutputBytes = { bytes: Uint8Array; contentType: string; extension: string };
type Output = OutputBytes & { expiresAt: number; faults: ReadonlyMap<FaultName, string>; downloads: number };

/** The output files, each at a URL that cannot be guessed, for an hour. */
export class Outputs extends ExpiringStore<Output> {
  /** Keeps a file and returns its path: `/delivery/<random>/out-<index>.<extension>`. */
  add(output: OutputBytes, index: number, faults: ReadonlyMap<FaultName, string>): string {
    const path = `/delivery/${randomId()}${randomId()}/out-${index}.${output.extension}`;
    this.put(path, { ...output, expiresAt: this.clock.now() + HOUR_MS, faults, downloads: 0 });
    return path;
  }
}

type StoredFile = Awaited<ReturnType<typeof describe>>;

/** The provider's files API: uploads for the inputs of predictions, for a day. */
export class StoredFiles extends ExpiringStore<StoredFile> {
  async create(content: File, metadata: unknown): Promise<StoredFile> {
    const file = await describe(content, metadata, this.clock);
    this.put(file.id, file);
    return file;
  }
}

async function describe(content: File, metadata: unknown, clock: SimulatedClock) {
  const bytes = Buffer.from(await content.arrayBuffer());
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const { name, type } = content;
  const createdAt = new Date();
  return { id: randomId(), name, type, bytes, sha256, metadata, createdAt, expiresAt: clock.now() + 24 * HOUR_MS };
}

export function fileJson({ id, name, type, bytes, sha256, metadata, createdAt }: StoredFile, baseUrl: string): object {
  return {
    id,
    name,
    content_type: type || "application/octet-stream",
    size: bytes.length,
    etag: sha256.slice(0, 32),
    checksums: { sha256 },
    metadata,
    created_at: createdAt.toISOString(),
    expires_at: new Date(createdAt.getTime() + 24 * HOUR_MS).toISOString(),
    urls: { get: `${baseUrl}/v1/files/${id}` },
  };
}
