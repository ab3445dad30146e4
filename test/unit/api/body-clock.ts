/** Lets everything happen that waits for no clock. */
export const settle = () => new Promise((resolve) => setTimeout(resolve));

/** A clock that moves only on request. Due work is done in order. */
export function standingClock() {
  let now = 0;
  const due: { at: number; work: () => void }[] = [];
  return {
    now: () => now,
    after(ms: number, work: () => void) {
      due.push({ at: now + ms, work });
      return () => undefined;
    },
    waiting: () => due.length,
    async pass(seconds: number) {
      const end = now + seconds * 1000;
      for (;;) {
        const next = due.toSorted((one, other) => one.at - other.at)[0];
        if (next === undefined || next.at > end) break;
        due.splice(due.indexOf(next), 1);
        now = next.at;
        next.work();
      }
      now = end;
      await settle();
    },
  };
}
