import { beforeEach, expect, test } from "vitest";
import { DELIVER_LIMITS as L } from "../../../supabase/functions/keyframe-deliver/lanes/lanes.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { deliverOver } from "../../support/database/deliver.ts";
import { clearWebhooks } from "../../support/database/webhooks.ts";

// With fewer owners: deliver-lanes.test.ts. With more hosts: test/unit/worker/places-simulation.test.ts.
const db = useDatabase();
const { makeDeliver, addOwners, seedMany } = deliverOver(db);
beforeEach(() => clearWebhooks(db.sql));

test("100 owners with five slow endpoints each, one after another → another's event is sent at once, from the first second on", async () => {
  const deliver = makeDeliver({ request: (_id, endpoint) => (endpoint === "innocent" ? 10 : 14_000) });
  const [owners, endpoints] = await addOwners(100, 5);
  for (const { id, owner_id } of endpoints) deliver.name(id, owner_id);
  owners.forEach((owner, i) => {
    const ids = endpoints.filter(({ owner_id }) => owner_id === owner).map(({ id }) => id);
    deliver.clock.after(i * 100, () => void deliver.outside(seedMany(ids, deliver.at())));
  });
  const innocent = await deliver.add("innocent", null, 1);
  const events: { id: string; at: number }[] = [];
  for (let at = 250; at < 16_000; at += 750) {
    deliver.clock.after(at, () => void deliver.deliver(innocent.id).then((event) => void events.push(event)));
  }
  await deliver.runFor(17_000); // the first requests have ended, and others taken their places
  expect(events.length).toBeGreaterThan(20);
  for (const { id, at } of events) expect(deliver.startOf(id) - at).toBeLessThan(300);
  expect(deliver.mostOpen("all")).toBeLessThan(L.maxOpen);
  for (const owner of owners) expect(deliver.mostOpen(owner)).toBeLessThanOrEqual(2);
});

test("250 owners with one endpoint each at one slow host, after a start → another's event is sent at once", async () => {
  const deliver = makeDeliver({ request: (_id, endpoint) => (endpoint === "innocent" ? 10 : 14_000) });
  const [, endpoints] = await addOwners(250, 1);
  for (const { id } of endpoints) deliver.name(id, "crm");
  const innocents = await Promise.all(
    Array.from({ length: 20 }, () => deliver.add("innocent", null, 0, { url: "https://good.example" })),
  );
  await seedMany(
    endpoints.map(({ id }) => id),
    deliver.at(),
  );
  const events: { id: string; at: number }[] = [];
  for (let at = 5; at < 16_000; at += 400)
    deliver.clock.after(at, () => {
      const { id } = innocents[((at / 400) % 20) | 0] ?? { id: "" };
      void deliver.deliver(id).then((event) => void events.push(event));
    });
  await deliver.runFor(17_000);
  expect(events.length).toBe(40);
  for (const { id, at } of events) expect(deliver.startOf(id) - at).toBeLessThan(300);
  expect(deliver.mostOpen("crm")).toBeLessThanOrEqual((L.maxOpen * 3) / 8); // 165 of the 250
  expect(deliver.claimed("crm")).toBeLessThan(250 * 15);
});
