import { expect, test, vi } from "vitest";
import type { Clock } from "../../shared/worker/clock.ts";
import { createDeadline } from "../../shared/worker/deadline.ts";
import { makeClock } from "./worker-clock.ts";

test("things that begin and end at any time → each that has not ended in time is over after its own time, once", async () => {
  const { clock, sleep, runUntil, now } = makeClock();
  const within = createDeadline(100, clock);
  const over: [string, number][] = [];
  const begin = (name: string, more = () => {}) =>
    within(() => {
      over.push([name, now()]);
      more();
    });
  const story = async () => {
    begin("ends at once")();
    await sleep(50); // all before it have ended
    begin("first");
    const endSecond = begin("second");
    endSecond();
    await sleep(30);
    let endFourth = (): void => undefined;
    begin("third", () => endFourth()); // ends another one when its time is over
    endFourth = begin("fourth");
    begin("fifth");
    await sleep(65);
    begin("sixth");
    await sleep(200);
    begin("after all of them");
    await sleep(200);
  };
  await runUntil(story());
  expect(over).toEqual([
    ["first", 150],
    ["third", 180],
    ["fifth", 180],
    ["sixth", 245],
    ["after all of them", 445],
  ]);
});

test("a thousand at once → one timer; and none when all have ended", () => {
  let [made, open] = [0, 0];
  const after: Clock["after"] = () => {
    made += 1;
    open += 1;
    return () => {
      open -= 1;
    };
  };
  const within = createDeadline(100, { now: () => 0, after });
  const ends = Array.from({ length: 1_000 }, () => within(() => expect.unreachable()));
  expect([made, open]).toEqual([1, 1]);
  for (const end of ends) end();
  expect(open).toBe(0);
});

// A set that has outgrown its table leaves the old one behind, with all that was in it. Where the old one is in V8's old space, it
// keeps a delivery's whole request alive until a collection of everything, thousands of them in a long run.
test("what ended → cannot be reached from what the set was given for it", () => {
  const given: object[] = [];
  vi.stubGlobal(
    "Set",
    class<Item extends object> extends Set<Item> {
      override add(item: Item): this {
        given.push(item);
        return super.add(item);
      }
    },
  );
  const within = createDeadline(100, makeClock().clock);
  vi.unstubAllGlobals(); // what compares uses sets too
  const expire = () => expect.unreachable();
  const end = within(expire);
  expect(given.flatMap(Object.values)).toContain(expire);
  end();
  expect(given.flatMap(Object.values)).not.toContain(expire);
});
