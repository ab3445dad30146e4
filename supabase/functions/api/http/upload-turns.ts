import { ApiError } from "../../../../shared/http/errors.ts";
import { type BodyClock, type BodyReader, createBodyReader } from "../../../../shared/http/read-body.ts";

/**
 * What the uploads that are read or stored at one time may come to, by their Content-Length. While one is stored it is in memory up to
 * three times: as it came, as it was taken out of its form, and as it is sent to Storage. So four of 10 MiB take at most 120 MiB
 * of the 256 MB of a hosted function.
 */
const MOST_BYTES = 40 * 1024 * 1024;
/** More would only share the sender's line. What two left uncollected took 30 MB more in an attack (lab/bench/memory). */
const MOST_AT_ONCE_PER_OWNER = 1;
/** Nothing of these is read, but each keeps a connection. */
const MOST_WAITING_PER_OWNER = 64;
const MOST_WAIT_MS = 20_000;
/** While others wait for a turn, an upload that stalls loses its own so soon, instead of after 10 s. */
const MOST_IDLE_WITH_WAITING_MS = 2_000;

/**
 * Lets uploads in, in the order of their coming, as far as memory and the share of each owner allow. `bytes`: how much may
 * come. `work` reads the body by the reader it is given; its place is free again when it has ended, read and stored.
 * Throws rate_limited or unavailable, before anything is read.
 */
export type UploadTurns = <T>(
  ownerId: string | null,
  bytes: number,
  work: (readBody: BodyReader) => Promise<T>,
) => Promise<T>;

type Upload = { ownerId: string | null; bytes: number };

export function createUploadTurns({ elapsed, later }: BodyClock): UploadTurns {
  const waiting = new Map<Upload, () => void>();
  const admitted = new Set<Upload>();
  let free = MOST_BYTES;
  const countOf = (uploads: Iterable<Upload>, ownerId: string | null) =>
    [...uploads].filter((upload) => upload.ownerId === ownerId).length;
  const readBody = createBodyReader({
    elapsed,
    later,
    mostBytes: Number.POSITIVE_INFINITY, // turns bound them
    mostIdleMs: () => (waiting.size > 0 ? MOST_IDLE_WITH_WAITING_MS : 10_000),
  });

  function admit(): void {
    for (const [upload, begin] of waiting) {
      if (countOf(admitted, upload.ownerId) >= MOST_AT_ONCE_PER_OWNER) continue;
      if (upload.bytes > free) return; // or small ones would keep it waiting for ever
      waiting.delete(upload);
      admitted.add(upload);
      free -= upload.bytes;
      begin();
    }
  }

  return async (ownerId, bytes, work) => {
    if (countOf(waiting.keys(), ownerId) >= MOST_WAITING_PER_OWNER) throw tooMany();
    const upload = { ownerId, bytes };
    await new Promise<void>((begin, giveUp) => {
      waiting.set(upload, begin);
      admit();
      if (waiting.has(upload)) later(() => waiting.delete(upload) && giveUp(noTurn()), MOST_WAIT_MS);
    });
    try {
      return await work(readBody);
    } finally {
      admitted.delete(upload);
      free += bytes;
      admit();
    }
  };
}

const tooMany = (): ApiError =>
  new ApiError(
    "rate_limited",
    `More than ${MOST_WAITING_PER_OWNER} uploads of yours are under way. Wait the seconds named in Retry-After, then send it again.`,
    { headers: { "Retry-After": "5" } },
  );

const noTurn = (): ApiError =>
  new ApiError(
    "unavailable",
    "Other uploads are under way, and this one's turn did not come. Wait the seconds named in Retry-After, then send it again.",
    { headers: { "Retry-After": "5" } },
  );
