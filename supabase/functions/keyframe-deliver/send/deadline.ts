import { type Clock, systemClock } from "../queue/clock.ts";

/** Calls back after its time, unless the returned function is called before. */
export type Deadline = (expire: () => void) => () => void;

const nothing = (): void => undefined;

/**
 * A limit of so many milliseconds on each of many things that begin at different times. They end in the order in which they
 * began, so one timer, for the oldest, does for all.
 */
export function createDeadline(ms: number, clock: Clock = systemClock): Deadline {
  const open = new Set<{ at: number; expire(): void }>();
  let cancel: (() => void) | null = null;

  function look(): void {
    cancel = null;
    for (const each of open) {
      const left = each.at - clock.now();
      if (left > 0) {
        cancel = clock.after(left, look);
        return;
      }
      open.delete(each);
      each.expire();
    }
  }

  return (expire) => {
    const entry = { at: clock.now() + ms, expire };
    open.add(entry);
    cancel ??= clock.after(ms, look);
    return () => {
      open.delete(entry);
      // The tables that the set has outgrown still name it, and until a collection of everything they keep what it names.
      entry.expire = nothing;
      if (open.size > 0) return;
      // With nothing left to wait for, a timer would only keep the process alive.
      cancel?.();
      cancel = null;
    };
  };
}
