/** So long a line may wait. Long enough that a service with much to do seldom pays for a timer. */
const LATEST_MS = 10;

/** Lines that wait for a moment in which nobody waits for an answer. */
export type LateLines = {
  write(line: string): void;
  /** Writes what waits, at once: for the end of the process. */
  flush(): void;
};

/**
 * Writes lines some milliseconds after they came: a write waits for its pipe, and until then no answer leaves. One write for a line,
 * in their order, because the hosted platform makes an entry of its log of each.
 *
 * @param later calls its argument after so many milliseconds
 */
export function createLateLines(
  write: (line: string) => void,
  later: (work: () => void, ms: number) => void = setTimeout,
): LateLines {
  let waiting: string[] = [];
  const flush = () => {
    const lines = waiting;
    waiting = [];
    for (const line of lines) write(line);
  };
  return {
    write(line) {
      if (waiting.push(line) === 1) later(flush, LATEST_MS);
    },
    flush,
  };
}
