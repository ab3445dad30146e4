import { ApiError } from "../../http/errors.ts";
import { type BodyReader, createBodyReader } from "../../http/read-body.ts";
import { type Clock, systemClock } from "../../platform/clock.ts";

/**
 * The total Content-Length of the uploads that are read or stored at one time. An upload can be in memory three times: as received,
 * as taken out of its form, and as sent to Storage. So four of 10 MiB take at most 120 MiB of the 256 MB of a hosted function.
 */
const MAX_BYTES = 40 * 1024 * 1024;
/** One upload at a time: more would only share the sender's bandwidth, and two used 30 MB more under an attack (lab/bench/memory). */
const MAX_AT_ONCE_PER_OWNER = 1;
/** Waiting uploads are not read, but each keeps a connection. */
const MAX_WAITING_PER_OWNER = 64;
const MAX_WAIT_MS = 20_000;
/** While others wait, a stalled upload ends after this time instead of 10 s. */
const MAX_IDLE_WITH_WAITING_MS = 2_000;

/**
 * Admits uploads in order of arrival, within the limits on memory and per owner. `bytes` is the largest size the upload can have. `work`
 * reads the body with the given reader and stores it. Throws rate_limited or unavailable before anything is read.
 */
export type UploadTurns = <T>(
  ownerId: string | null,
  bytes: number,
  work: (readBody: BodyReader) => Promise<T>,
) => Promise<T>;

type Upload = { ownerId: string | null; bytes: number };

export function createUploadTurns(clock: Clock = systemClock): UploadTurns {
  const waiting = new Map<Upload, () => void>();
  const admitted = new Set<Upload>();
  let free = MAX_BYTES;
  const countOf = (uploads: Iterable<Upload>, ownerId: string | null) =>
    [...uploads].filter((upload) => upload.ownerId === ownerId).length;
  const readBody = createBodyReader({
    clock,
    maxTotalBytes: Number.POSITIVE_INFINITY, // bounded by MAX_WAITING_PER_OWNER and the total
    maxIdleMs: () => (waiting.size > 0 ? MAX_IDLE_WITH_WAITING_MS : 10_000),
  });

  function admit(): void {
    for (const [upload, begin] of waiting) {
      if (countOf(admitted, upload.ownerId) >= MAX_AT_ONCE_PER_OWNER) continue;
      if (upload.bytes > free) return; // otherwise small uploads could delay this one for ever
      waiting.delete(upload);
      admitted.add(upload);
      free -= upload.bytes;
      begin();
    }
  }

  return async (ownerId, bytes, work) => {
    if (countOf(waiting.keys(), ownerId) >= MAX_WAITING_PER_OWNER) throw tooMany();
    const upload = { ownerId, bytes };
    await new Promise<void>((begin, giveUp) => {
      waiting.set(upload, begin);
      admit();
      if (!waiting.has(upload)) return;
      clock.after(MAX_WAIT_MS, () => {
        if (!waiting.delete(upload)) return;
        giveUp(noTurn());
        admit(); // smaller ones behind it may fit
      });
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
    `You have more than ${MAX_WAITING_PER_OWNER} uploads in progress. Wait for the time in Retry-After, then send it again.`,
    { headers: { "Retry-After": "5" } },
  );

const noTurn = (): ApiError =>
  new ApiError(
    "unavailable",
    "Too many uploads are in progress. Wait for the time in Retry-After, then send it again.",
    { headers: { "Retry-After": "5" } },
  );
