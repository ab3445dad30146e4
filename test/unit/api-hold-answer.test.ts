import { describe, expect, test } from "vitest";
import { ApiError, type ErrorCode } from "../../shared/http/errors.ts";
import { holdAnswer, readWait } from "../../supabase/functions/api/http/hold-answer.ts";
import { pause } from "../../shared/platform/pause.ts";
import { createClock } from "./api-clock.ts";

describe("Prefer", () => {
  test.each<[number, (string | null)[]]>([
    [1, ["wait=1"]],
    [25, ["wait=25", "wait=26", "wait=86400", "wait=99999999999999999999", `wait=${"9".repeat(400)}`]],
    [5, ["WAIT=5", "wait = 5", 'wait="5"', "wait=05", " wait=5 ", "return=minimal;foo, wait=5;bar=baz"]],
    [5, ["respond-async, wait=5", "wait=5, respond-async", "wait=5, wait=9"]], // the first that is understood counts
    [9, ["foo=bar, wait=9, wait=5"]],
    [0, [null, "", "wait", "wait=", "wait=0", "wait=00", "wait=-1", "wait=+1", "wait=1.5", "wait=1e1", "wait=0x10"]],
    [0, ["wait=ten", "wait=5s", "wait=٥", "await=5", "no-wait=5", "wait5", "wait:5", "foo wait=5", "foo; wait=5"]],
    [0, ["wait=5 6"]],
  ])("waits %i seconds: %j", (seconds, given) => {
    for (const prefer of given) expect([prefer, readWait(prefer)]).toEqual([prefer, seconds]);
  });

  test.each([",", " ", "wait=", ",wait=1x", "9", ", ", ",wait=9 ", '"', "wait"])(
    "64 KiB of %j → looked through in no time",
    (piece) => {
      const filler = piece.repeat(65_536 / piece.length);
      const began = performance.now();
      for (const prefer of [filler, `wait=1${filler}x`, `wait${filler}x`, `,${filler}x`]) {
        expect(readWait(prefer)).toBeLessThanOrEqual(25);
      }
      expect(performance.now() - began).toBeLessThan(2000); // a search that goes back and forth takes many seconds
    },
  );
});

/** A row that changes once the clock has reached `changesAfter`; every read is counted. */
function watch({ changesAfter = Number.POSITIVE_INFINITY, seconds = 25, fails }: Partial<Watch> = {}) {
  const clock = createClock();
  const gone = new AbortController();
  let looks = 0;
  const readAgain = async () => {
    looks += 1;
    if (fails && looks === fails.at) throw fails.error;
    return { seen: looks, isDone: clock.elapsed() >= changesAfter };
  };
  const first = { seen: 0, isDone: changesAfter === 0 };
  const hold = { seconds, readAgain, isDone: (seen: typeof first) => seen.isDone, signal: gone.signal };
  return { clock, gone, looks: () => looks, held: () => holdAnswer(first, hold, clock) };
}
type Watch = { changesAfter: number; seconds: number; fails: { at: number; error: unknown } };

describe("holding", () => {
  test("changed from the start → at once, without a read or a sleep", async () => {
    const { held, looks, clock } = watch({ changesAfter: 0 });
    expect(await held()).toEqual({ seen: 0, isDone: true });
    expect([looks(), clock.pauses]).toEqual([0, []]);
  });

  test("a change after a moment → at the next read, a fifth of a second at first; later on at most a second late", async () => {
    const soon = watch({ changesAfter: 150 });
    expect([await soon.held(), soon.clock.elapsed()]).toEqual([{ seen: 1, isDone: true }, 200]);
    const late = watch({ changesAfter: 10_000 });
    expect((await late.held()).isDone).toBe(true);
    expect(late.clock.elapsed()).toBeLessThanOrEqual(11_000);
  });

  test("no change → the last state, when the time is up and not later", async () => {
    const { held, looks, clock } = watch({ seconds: 3 });
    expect(await held()).toEqual({ seen: looks(), isDone: false });
    expect([clock.elapsed(), clock.pauses]).toEqual([3000, [200, 300, 450, 675, 1000, 375]]);
  });

  test("the longest wait, 25 seconds → 28 reads, so as many tokens of the caller", async () => {
    const { held, looks, clock } = watch();
    await held();
    expect([looks(), clock.elapsed()]).toEqual([28, 25_000]);
    expect(clock.pauses.reduce((sum, pause) => sum + pause)).toBe(25_000);
  });

  test("looks that are slow count in the wait, and there are fewer of them", async () => {
    const clock = createClock();
    let looks = 0;
    const readAgain = async () => {
      clock.advance(4000);
      looks += 1;
      return looks;
    };
    const signal = new AbortController().signal;
    expect(await holdAnswer(0, { seconds: 10, readAgain, isDone: () => false, signal }, clock)).toBe(looks);
    expect([looks, clock.elapsed() < 15_000]).toEqual([3, true]);
  });
});

describe("a read that fails", () => {
  const error = (code: ErrorCode) => new ApiError(code, "A sentence.");
  test.each<ErrorCode>(["rate_limited", "unavailable", "unauthorized"])(
    "%s → the wait is over, and the last state is the answer",
    async (code) => {
      const third = watch({ fails: { at: 3, error: error(code) } });
      expect([await third.held(), third.looks()]).toEqual([{ seen: 2, isDone: false }, 3]);
      expect(await watch({ fails: { at: 1, error: error(code) } }).held()).toEqual({ seen: 0, isDone: false });
    },
  );
  test.each([error("not_found"), error("internal"), new TypeError("a fault of ours")])("%s → fails", async (thrown) => {
    const { held, looks } = watch({ fails: { at: 2, error: thrown } });
    await expect(held()).rejects.toBe(thrown);
    expect(looks()).toBe(2);
  });
});

describe("the caller has gone", () => {
  test("while we sleep → no further look", async () => {
    const { held, looks, clock, gone } = watch();
    clock.whenSleeping(() => {
      if (clock.pauses.length === 3) gone.abort();
    });
    expect(await held()).toEqual({ seen: 2, isDone: false });
    expect(looks()).toBe(2);
  });
  test("before the wait began → no look at all", async () => {
    const { held, looks, clock, gone } = watch();
    gone.abort();
    await held();
    expect([looks(), clock.pauses]).toEqual([0, []]);
  });
});

test("a pause that is aborted meanwhile, or before, or of 0 milliseconds → over at once", async () => {
  const gone = new AbortController();
  const asleep = pause(600_000, gone.signal);
  gone.abort();
  await asleep;
  await pause(600_000, gone.signal);
  await pause(0, new AbortController().signal);
});
