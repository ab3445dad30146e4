import { useState } from "react";
import type { Delivery } from "../../../../client/index.ts";

type Frozen = ReturnType<typeof freezeList> & { fresh: Delivery[] };

/** The rows to show: `fresh`, or the rows from when `isFrozen` began. `fresh` must be the same array until something changes. */
export function useFrozenList(fresh: Delivery[] | undefined, isFrozen: boolean) {
  const [frozen, setFrozen] = useState<Frozen | null>(null);
  const freeze = (rows: Delivery[], all: Delivery[]): void => setFrozen({ ...freezeList(rows, all), fresh: all });
  // The state is set during render, React's way for derived state: no frame shows rows that are not frozen yet.
  if (!isFrozen && frozen !== null) setFrozen(null);
  if (isFrozen && fresh !== undefined && frozen?.fresh !== fresh) freeze(frozen?.rows ?? fresh, fresh);
  return {
    rows: isFrozen ? (frozen?.rows ?? fresh) : fresh,
    newer: isFrozen ? (frozen?.newer ?? 0) : 0,
    showNewer: () => fresh !== undefined && freeze(fresh, fresh),
  };
}

/** The frozen rows, updated from `fresh` or as last seen, with older rows below. Newer rows are not added: `newer` counts them. */
export function freezeList(frozen: Delivery[], fresh: Delivery[]) {
  const now = new Map(fresh.map((delivery) => [delivery.deliveryId, delivery]));
  const known = new Set(frozen.map(({ deliveryId }) => deliveryId));
  const [top] = frozen;
  const others = fresh.filter(({ deliveryId }) => !known.has(deliveryId));
  const older = others.filter(
    ({ createdAt }) => top === undefined || Date.parse(createdAt) <= Date.parse(top.createdAt),
  );
  return {
    rows: [...frozen.map((delivery) => now.get(delivery.deliveryId) ?? delivery), ...older],
    newer: others.length - older.length,
  };
}
