import { expect, test, vi } from "vitest";
import type { Clock } from "../../shared/worker/clock.ts";
import { createDeadline } from "../../shared/worker/deadline.ts";
import { makeClock } from "./worker-clock.ts";

/** A clock that counts its timers. */
function countTimers({ clock }: ReturnType<typeof makeClock>) {
  let made = 0;
  let open = 0;
  const counting: Clock = {
    now: clock.now,
    after(ms, call) {
      made += 1;
      open += 1;
      let isOpen = true;
      const end = () => {
        if (isOpen) open -= 1;
        isOpen = false;
      };
      const cancel = clock.after(ms, () => {
        end();
        call();
      });
      return () => {
        end();
        cancel();
      };
    },
  };
  return { counting, made: () => made, open: () => open };
}

test("several things that began one after the other → each is over after its own time", async () => {
  const { clock, sleep, runUntil, now } = makeClock();
  const within = createDeadline(100, clock);
  const over: [string, number][] = [];
  const begin = (name: string) => within(() => over.push([name, now()]));
  const story = async () => {
    begin("first");
    await sleep(30);
    begin("second");
    begin("third");
    await sleep(65);
    begin("fourth");
    await sleep(200);
    begin("after all of them");
    await sleep(200);
  };
  await runUntil(story());
  expect(over).toEqual([
    ["first", 100],
    ["second", 130],
    ["third", 130],
    ["fourth", 195],
    ["after all of them", 395],
  ]);
});

test("what ended in time → is not called back, and the others are", async () => {
  const { clock, sleep, runUntil } = makeClock();
  const within = createDeadline(100, clock);
  const over: string[] = [];
  const [endFirst] = ["first", "second", "third"].map((name) => within(() => over.push(name)));
  endFirst?.();
  const story = async () => {
    await sleep(50);
    within(() => over.push("later"))();
    await sleep(100);
  };
  await runUntil(story());
  expect(over).toEqual(["second", "third"]);
});

test("what begins when all before it have ended → is over after its time", async () => {
  const { clock, sleep, runUntil, now } = makeClock();
  const within = createDeadline(100, clock);
  const over: number[] = [];
  const story = async () => {
    within(() => over.push(now()))();
    await sleep(50);
    within(() => over.push(now()));
    await sleep(300);
  };
  await runUntil(story());
  expect(over).toEqual([150]);
});

test("what ends another one when its time is over → that one is not called back", async () => {
  const { clock, sleep, runUntil } = makeClock();
  const within = createDeadline(100, clock);
  const over: string[] = [];
  let endSecond = (): void => undefined;
  within(() => {
    over.push("first");
    endSecond();
  });
  endSecond = within(() => over.push("second"));
  await runUntil(sleep(300));
  expect(over).toEqual(["first"]);
});

test("a thousand at once → one timer; and none when all have ended", async () => {
  const standing = makeClock();
  const { counting, made, open } = countTimers(standing);
  const within = createDeadline(100, counting);
  const ends = Array.from({ length: 1_000 }, () => within(() => expect.unreachable()));
  expect([made(), open()]).toEqual([1, 1]);
  for (const end of ends) end();
  expect(open()).toBe(0);
  await standing.runUntil(standing.sleep(300));
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
