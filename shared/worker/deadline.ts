import { type Clock, systemClock } from "./clock.ts";

/** Calls `expire` at the deadline, unless the returned function is called before. */
export type Deadline = (expire: () => void) => () => void;

const nothing = (): void => undefined;

/**
 * A deadline of `ms` for each of many concurrent operations. They expire in the order in which they began, so one timer for the oldest
 * is enough.
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
      // Old tables of the set can still refer to the entry until a full garbage collection, so it drops its reference.
      entry.expire = nothing;
      if (open.size > 0) return;
      // A timer would keep the process alive.
      cancel?.();
      cancel = null;
    };
  };
}
