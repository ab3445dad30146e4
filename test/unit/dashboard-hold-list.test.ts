import { expect, test } from "vitest";
import type { Delivery } from "../../client/index.ts";
import { holdList } from "../../dashboard/src/webhooks/deliveries/use-held-list.ts";
import { SAMPLE_DELIVERY } from "../../shared/contract/samples.ts";

/** A delivery of the minute that its name says. */
const at = (minute: number, changes: Partial<Delivery> = {}): Delivery => ({
  ...SAMPLE_DELIVERY,
  status: "delivered",
  deliveryId: `of minute ${minute}`,
  createdAt: `2026-03-01T10:${String(minute).padStart(2, "0")}:00.000Z`,
  ...changes,
});
const names = (deliveries: Delivery[]) => deliveries.map(({ deliveryId }) => deliveryId.slice("of minute ".length));

test("newer ones have come → they wait, and are counted", () => {
  const { rows, newer } = holdList([at(5), at(4)], [at(7), at(6), at(5), at(4)]);
  expect([names(rows), newer]).toEqual([["5", "4"], 2]);
});

test("a row has changed → as it is now, where it was", () => {
  const { rows } = holdList([at(5), at(4, { attempts: 1 })], [at(5), at(4, { attempts: 2 })]);
  expect(rows.map(({ attempts }) => attempts)).toEqual([SAMPLE_DELIVERY.attempts, 2]);
});

test("rows are read no more, be it the first or one between → as they were, where they were", () => {
  const held = [at(5), at(4), at(3)];
  const { rows, newer } = holdList(held, [at(7), at(4)]);
  expect([names(rows), newer]).toEqual([["5", "4", "3"], 1]);
  expect(rows[0]).toBe(held[0]);
});

test("older ones are loaded, one of them of the same moment → below", () => {
  const same = at(5, { deliveryId: "of minute 5b" });
  const { rows, newer } = holdList([at(5), at(4)], [at(6), at(5), same, at(4), at(3)]);
  expect([names(rows), newer]).toEqual([["5", "4", "5b", "3"], 1]);
});

test("held while it was empty → whatever comes is shown", () => {
  const { rows, newer } = holdList([], [at(6), at(5)]);
  expect([names(rows), newer]).toEqual([["6", "5"], 0]);
});
