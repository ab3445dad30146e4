import { beforeEach, expect, test } from "vitest";
import { DELIVER_LIMITS as L } from "../../../supabase/functions/keyframe-deliver/deliveries/work.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { deliverOver, isSentOnce } from "../../support/database/deliver.ts";
import { clearWebhooks } from "../../support/database/webhooks.ts";

const db = useDatabase();
const { makeDeliver, addOwners, seedMany } = deliverOver(db);
beforeEach(() => clearWebhooks(db.sql));

const QUICK = { standing: "quick" };
const HANGS = 14_000;
const isInnocent = (endpoint: string) => endpoint === "innocent";
const makeSlow = () => makeDeliver({ request: (_id, endpoint) => (isInnocent(endpoint) ? 10 : HANGS) });

// Shares of lanes and resources: test/db/work/places-simulation. When an endpoint counts as slow: queue.test.ts.

/** Sends an event to one of these endpoints every so often; when they are over, each must have been sent soon. */
const sendEvery = (deliver: ReturnType<typeof makeDeliver>, endpoints: { id: string }[], everyMs: number) => {
  const events: { id: string; at: number }[] = [];
  for (let at = 250, turn = 0; at < 16_000; at += everyMs, turn++) {
    const { id = "" } = endpoints[turn % endpoints.length] ?? {};
    deliver.clock.after(at, () => void deliver.deliver(id).then((event) => void events.push(event)));
  }
  return {
    expectSoon() {
      expect(events.length).toBeGreaterThan(15);
      const late = events.map(({ id, at }) => ({ at, delay: deliver.startOf(id) - at }));
      expect(late.filter(({ delay }) => !(delay < 300))).toEqual([]);
    },
  };
};

test("600 slow endpoints of as many owners, at one host with quick ones → events for the quick ones are sent at once", async () => {
  const deliver = makeSlow();
  const quick = { url: "https://slow.example/quick", ...QUICK };
  const innocents = await Promise.all(Array.from({ length: 20 }, () => deliver.add("innocent", null, 0, quick)));
  await seedMany(await addOwners(600), deliver.at());
  const events = sendEvery(deliver, innocents, 400);
  await deliver.runFor(17_000);
  events.expectSoon();
  const [first] = [...deliver.startedAt.values()].filter(([at = 0]) => at > HANGS);
  expect(first).toBeDefined(); // the slow ones go on too
});

test("an owner switches hanging endpoints off and on → events for the owner's quick endpoint are sent at once", async () => {
  const deliver = makeSlow();
  const owner = await db.addUser();
  for (let j = 0; j < 5; j++) await deliver.add("hanging", owner, 60);
  const events = sendEvery(deliver, [await deliver.add("innocent", owner, 0, { url: "https://good.example" })], 750);
  const change = (enabled: boolean) =>
    deliver.outside(
      db.sql`update keyframe.webhook_endpoints set enabled = ${enabled} where owner_id = ${owner} and url not like '%good%'`,
    );
  for (let at = 500; at < 12_000; at += 500) deliver.clock.after(at, () => void change(at % 1_000 === 0));
  await deliver.runFor(17_000);
  events.expectSoon();
  expect(deliver.mostOpen("hanging")).toBeLessThanOrEqual(5 * 8);
});

test("60 quick endpoints of three owners all hang at once → another owner's events are sent at once", async () => {
  let hangs = false;
  const deliver = makeDeliver({ request: (_id, endpoint) => (hangs && !isInnocent(endpoint) ? HANGS : 10) });
  const owners = [await db.addUser(), await db.addUser(), await db.addUser()];
  for (const [i, owner] of owners.entries())
    await Promise.all(
      Array.from({ length: 20 }, () => deliver.add(owner, owner, 40, { url: `https://host-${i}.example`, ...QUICK })),
    );
  deliver.clock.after(120, () => {
    hangs = true;
  });
  const events = sendEvery(deliver, [await deliver.add("innocent", null, 0)], 750);
  await deliver.runFor(17_000);
  events.expectSoon();
  for (const owner of owners) expect(deliver.mostOpen(owner)).toBeLessThanOrEqual((L.maxOpen * 2) / 5);
});

test("10,000 deliveries to a quick endpoint → sent in order, several between calls; another endpoint's event is sent at once", async () => {
  const deliver = makeDeliver();
  const many = await deliver.add("many", null, 10_000, { ...QUICK, max_in_flight: 100 });
  const other = await deliver.add("other", null, 0);
  let event = { id: "", at: 0 };
  deliver.clock.after(300, async () => {
    event = await deliver.deliver(other.id);
  });
  await deliver.runUntil(deliver.kick());
  const order = [...deliver.startedAt.keys()].filter((id) => id !== event.id);
  expect(order).toEqual(many.deliveries);
  expect(isSentOnce(deliver.startedAt)).toBe(true);
  expect(deliver.mostOpen("many")).toBe(100);
  expect(deliver.startOf(event.id) - event.at).toBeLessThan(300);
});
