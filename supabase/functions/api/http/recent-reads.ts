/** A few megabytes at most, nearly all of it tokens: how long those are, their users' metadata decide. */
const MOST_READS = 1000;
const LONGEST_KEPT = 4096;

/** Who asks about which prediction. */
export type Reader = { token: string | null; step: string; projectId: string; predictionId: string };

/**
 * What callers were told of predictions that run, until the moment that Retry-After named. Who asks again sooner, with the ETag of
 * that answer, is told the same again and the database is not asked: callers without patience cost it no more than polite ones, and
 * learn of a change no later than they.
 */
export type RecentReads = {
  /** The headers that came with this tag, unless it is time to ask the database. */
  find(reader: Reader, tag: string): Record<string, string> | undefined;
  /** `askedAt`: before the database was asked. Without Retry-After, the end, nothing is repeated. */
  note(reader: Reader, headers: Record<string, string>, askedAt: number): void;
  /** For when the holder of this token has changed something: a cancel also moves those who wait behind. */
  forget(token: string | null): void;
};

/** @param elapsed milliseconds by a clock that is never set, as `askedAt` is */
export function createRecentReads(elapsed: () => number, most = MOST_READS): RecentReads {
  const reads = new Map<string, { headers: Record<string, string>; until: number }>();
  const keyOf = ({ token, step, projectId, predictionId }: Reader) => `${token} ${step} ${projectId} ${predictionId}`;
  return {
    find(reader, tag) {
      const read = reads.get(keyOf(reader));
      return read !== undefined && elapsed() < read.until && read.headers.ETag === tag ? read.headers : undefined;
    },
    note(reader, headers, askedAt) {
      const key = keyOf(reader);
      if (key.length > LONGEST_KEPT) return;
      reads.delete(key); // so that it becomes the youngest
      const seconds = headers["Retry-After"];
      if (seconds !== undefined) reads.set(key, { headers, until: askedAt + Number(seconds) * 1000 });
      const oldest = reads.keys().next().value;
      if (reads.size > most && oldest !== undefined) reads.delete(oldest);
    },
    forget(token) {
      for (const key of reads.keys()) if (key.startsWith(`${token} `)) reads.delete(key);
    },
  };
}
