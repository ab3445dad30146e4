import type { RefusedOwner } from "../runbook/problems.ts";
import type { HoldClock } from "./hold-answer.ts";

/** Refusals of one owner that are this close together count as continuous. */
const GAP_MS = 2_000;
const HOLD_MS = 1_000;
/** Further refusals of one owner are answered at once, because each held one keeps a connection to this function. */
const MAX_HELD_PER_OWNER = 64;
const NAMED_AFTER_MS = 10_000;
const MAX_NAMED = 3;
const MAX_OWNERS = 1_000;

/** The owners whose requests this process refuses (rate_limited). */
export function createRefusals({ elapsed, sleep }: HoldClock) {
  const owners = new Map<string, { since: number; last: number; held: number }>(); // the latest last
  return {
    /** Holds every answer but the first for a second, so that a client that repeats at once in many loops costs others little. */
    async hold(ownerId: string, signal: AbortSignal): Promise<void> {
      const now = elapsed();
      const known = owners.get(ownerId) ?? { since: now, last: Number.NEGATIVE_INFINITY, held: 0 };
      const isFirst = now - known.last > GAP_MS;
      if (isFirst) known.since = now;
      known.last = now;
      owners.delete(ownerId);
      const [oldest] = owners.keys();
      if (owners.size >= MAX_OWNERS && oldest !== undefined) owners.delete(oldest);
      owners.set(ownerId, known);
      if (isFirst || known.held >= MAX_HELD_PER_OWNER) return;
      known.held += 1;
      await sleep(HOLD_MS, signal);
      known.held -= 1;
    },
    /** Owners who have been refused without a pause for ten seconds, the longest first, at most three. */
    named(): RefusedOwner[] {
      const now = elapsed();
      return [...owners]
        .filter(([, { since, last }]) => now - last <= GAP_MS && now - since >= NAMED_AFTER_MS)
        .map(([ownerId, { since }]) => ({ ownerId, seconds: (now - since) / 1000 }))
        .toSorted((a, b) => b.seconds - a.seconds)
        .slice(0, MAX_NAMED);
    },
  };
}
