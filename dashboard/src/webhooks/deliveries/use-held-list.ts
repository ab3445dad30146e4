import { useState } from "react";
import type { Delivery } from "../../../../client/index.ts";

type Held = HeldList & { fresh: Delivery[] };

/**
 * The rows to show: `fresh`, or while `isHeld` the rows from when that began, so that they do not move. `showNewer` shows all
 * again. `fresh` must be the same array until something changes.
 */
export function useHeldList(fresh: Delivery[] | undefined, isHeld: boolean) {
  const [held, setHeld] = useState<Held | null>(null);
  const take = (rows: Delivery[], all: Delivery[]): void => setHeld({ ...holdList(rows, all), fresh: all });
  // Set during render, React's way for derived state: no frame shows rows that are not held yet.
  if (!isHeld && held !== null) setHeld(null);
  if (isHeld && fresh !== undefined && held?.fresh !== fresh) take(held?.rows ?? fresh, fresh);
  return {
    rows: isHeld ? (held?.rows ?? fresh) : fresh,
    newer: isHeld ? (held?.newer ?? 0) : 0,
    showNewer: () => fresh !== undefined && take(fresh, fresh),
  };
}

/** A list that does not move while the user reads: its rows, and how many newer deliveries are not shown. */
type HeldList = { rows: Delivery[]; newer: number };

/**
 * Keeps the rows, updated from `fresh` or, if no longer in it, as last seen. Adds older rows below and none above.
 */
export function holdList(held: Delivery[], fresh: Delivery[]): HeldList {
  const now = new Map(fresh.map((delivery) => [delivery.deliveryId, delivery]));
  const known = new Set(held.map(({ deliveryId }) => deliveryId));
  const [top] = held;
  const others = fresh.filter(({ deliveryId }) => !known.has(deliveryId));
  const older = others.filter(
    ({ createdAt }) => top === undefined || Date.parse(createdAt) <= Date.parse(top.createdAt),
  );
  return {
    rows: [...held.map((delivery) => now.get(delivery.deliveryId) ?? delivery), ...older],
    newer: others.length - older.length,
  };
}
