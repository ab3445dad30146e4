import type { Delivery } from "../../../client/index.ts";

/** A list that stands still while somebody reads in it: its rows, and how many newer deliveries wait above them. */
export type HeldList = { rows: Delivery[]; newer: number };

/**
 * Keeps the rows that were there, each as it is now or (it is among `fresh` no more: another status, or pushed out by newer ones)
 * as it was last seen, and adds older ones below. Nothing comes above them.
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
