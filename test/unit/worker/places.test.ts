import { describe, expect, test } from "vitest";
import { createPlaces, type Place } from "../../../shared/worker/places.ts";

const PLACES = 100;
const SLOW_MS = 3_000;
const SHARED_FIRST = 8;

/** Places whose clock stands still unless it is moved. */
function makePlaces() {
  let time = 0;
  const places = createPlaces({
    places: PLACES,
    reserve: 0,
    slowMs: SLOW_MS,
    sharedFirst: SHARED_FIRST,
    now: () => time,
  });
  const pass = (ms: number) => {
    time += ms;
  };
  /** An endpoint of an owner at a host; `target` is its name. */
  const line = (owner: string, shared: string, target = `${owner} ${shared}`) => places.of({ owner, target, shared });
  const answer = (owner: string, shared: string, ms: number, target?: string) => {
    const place = line(owner, shared, target).begin();
    pass(ms);
    place?.end();
    return place !== null;
  };
  /** Begins as many as have a place, and returns them. */
  const fill = (owners: string[], shared: string, most = PLACES): Place[] => {
    const begun: Place[] = [];
    for (let isFull = false; !isFull; ) {
      isFull = true;
      for (const owner of owners) {
        const place = begun.length < most ? line(owner, shared).begin() : null;
        if (place === null) continue;
        begun.push(place);
        isFull = false;
      }
    }
    return begun;
  };
  return { ...places, pass, line, answer, fill };
}

const named = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name} ${i}`);
const OWNERS = named("owner", 200);

describe("a target", () => {
  test("nothing is known → one place; each quick answer → one more; a slow one → one again", () => {
    const { answer, line } = makePlaces();
    const allowed = () => line("a", "crm").allowed();
    expect(allowed()).toBe(1);
    for (let i = 0; i < 5; i++) answer("a", "crm", 100);
    expect(allowed()).toBe(6);
    answer("a", "crm", SLOW_MS + 1);
    expect(allowed()).toBe(1);
  });

  test("still open after slowMs → slow at once, and its end counts no second time", () => {
    const { line, pass, counts } = makePlaces();
    line("a", "crm").begin();
    pass(SLOW_MS);
    expect(counts()).toEqual({ open: 1, slow: 0 });
    pass(1);
    expect(counts()).toEqual({ open: 1, slow: 1 });
  });

  test("a place that is ended twice → counts once", () => {
    const { line, counts } = makePlaces();
    const place = line("a", "crm").begin();
    line("b", "crm").begin();
    for (let i = 0; i < 2; i++) place?.end();
    expect([counts().open, line("a", "crm").allowed()]).toEqual([1, 2]);
    const again = named("target", 9).map((target) => line("a", target).begin());
    expect(again.filter((one) => one !== null)).toHaveLength(2);
  });
});

describe("an owner", () => {
  test("many targets that nobody knows → two at once, one after a slow answer", () => {
    const { line, answer, pass } = makePlaces();
    const open = named("target", 9).map((target) => line("a", target).begin());
    expect(open.filter((place) => place !== null)).toHaveLength(2);
    pass(SLOW_MS + 1);
    for (const place of open) place?.end();
    const again = named("target", 9).map((target) => line("a", target).begin());
    expect(again.filter((place) => place !== null)).toHaveLength(1);
    expect(answer("b", "another", 10)).toBe(true);
  });

  test("a slow target and quick ones → the quick ones have their places", () => {
    const { line, answer, pass } = makePlaces();
    for (let i = 0; i < 4; i++) answer("a", "crm", 10, "quick");
    line("a", "crm", "slow").begin();
    pass(SLOW_MS + 1);
    const begun = named("", 9).map(() => line("a", "crm", "quick").begin());
    expect(begun.filter((place) => place !== null)).toHaveLength(5);
  });

  test("all that it has is quick → at most a quarter of all places, and whoever has none gets one", () => {
    const { answer, fill } = makePlaces();
    for (let i = 0; i < PLACES; i++) answer("a", "crm", 10);
    expect(fill(["a"], "crm")).toHaveLength(PLACES / 4);
    expect(answer("b", "crm", 10)).toBe(true);
  });
});

describe("what many owners share", () => {
  test("nothing is known → a few places for all of them; quick answers → more, at most half of all", () => {
    const { fill, pass } = makePlaces();
    const sizes: number[] = [];
    for (let round = 0; round < 6; round++) {
      const begun = fill(OWNERS, "crm");
      sizes.push(begun.length);
      pass(50);
      for (const place of begun) place.end();
    }
    expect(sizes).toEqual([8, 32, 50, 50, 50, 50]);
  });

  test("it hangs, and was quick for many → half of all places until slowMs; then no more than slow ones get", () => {
    const { fill, pass, answer, counts } = makePlaces();
    for (const owner of OWNERS) answer(owner, "crm", 10);
    expect(fill(OWNERS, "crm")).toHaveLength(PLACES / 2);
    expect(answer("innocent", "other", 10)).toBe(true);
    pass(SLOW_MS + 1);
    expect(counts()).toEqual({ open: 50, slow: 50 });
    expect(fill(OWNERS, "crm")).toHaveLength(0);
    expect(answer("innocent", "other", 10)).toBe(true);
  });

  test("one owner is slow there, with many targets → the others keep their places", () => {
    const { fill, line, answer, pass } = makePlaces();
    for (const owner of OWNERS.slice(0, 50)) answer(owner, "hooks", 10);
    for (const target of named("target", 30)) {
      line("a", "hooks", target).begin();
      pass(SLOW_MS);
    }
    expect(fill(OWNERS.slice(50), "hooks").length).toBeGreaterThan(40);
  });

  test("most of its recent owners are slow there → the others are tried, a few at a time; whom it answers quickly goes on", () => {
    const { fill, answer, pass, counts } = makePlaces();
    for (const owner of OWNERS) answer(owner, "hooks", 10);
    fill(OWNERS.slice(0, 9), "hooks", 9); // they hang
    pass(SLOW_MS + 1);
    const trials = fill(OWNERS.slice(50), "hooks");
    expect(trials).toHaveLength(SHARED_FIRST + 16); // and some as slow ones
    pass(10);
    for (const place of trials) place.end();
    for (let i = 0; i < 20; i++) expect(answer(OWNERS[50] ?? "", "hooks", 10)).toBe(true);
    expect(fill(OWNERS.slice(50, 58), "hooks").length).toBeGreaterThan(20);
    expect(counts().slow).toBe(9);
  });

  test("slow for its owners, then quick again → has as many places as before", () => {
    const { fill, pass } = makePlaces();
    const hanging = fill(OWNERS, "crm");
    pass(SLOW_MS + 1);
    for (const place of hanging) place.end();
    for (let round = 0; round < 6; round++) {
      const begun = fill(OWNERS, "crm");
      pass(50);
      for (const place of begun) place.end();
    }
    expect(fill(OWNERS, "crm")).toHaveLength(PLACES / 2);
  });
});

describe("all together", () => {
  test("a thousand owners, each at a host that nobody knows → a quarter of the places, then ever less", () => {
    const { line, pass, counts, answer } = makePlaces();
    answer("innocent", "good", 10);
    const open: number[] = [];
    for (let round = 0; round < 4; round++) {
      named(`owner of ${round}`, 1_000).forEach((owner) => void line(owner, `host of ${owner}`).begin());
      open.push(counts().open);
      expect(answer("innocent", "good", 10)).toBe(true);
      pass(SLOW_MS + 1);
    }
    expect(open).toEqual([25, 38, 45, 52]);
  });

  test("slow targets of many owners and hosts → at most half of the places; one host at most half of these", () => {
    const { answer, fill, line, counts, report } = makePlaces();
    for (const owner of OWNERS) answer(owner, "crm", SLOW_MS + 1);
    expect(fill(OWNERS, "crm").length).toBeLessThanOrEqual(PLACES / 4 + SHARED_FIRST);
    for (const owner of named("b", 100)) answer(owner, `host of ${owner}`, SLOW_MS + 1);
    for (const owner of named("b", 100)) line(owner, `host of ${owner}`).begin();
    expect(counts().open).toBeLessThanOrEqual(PLACES / 2);
    const { of, open, slow } = report();
    expect([of, open, slow.length, slow[0]?.name]).toEqual([PLACES, counts().open, 5, "crm"]);
    expect(slow.map((cause) => cause.open)).toEqual(slow.map((cause) => cause.open).toSorted((a, b) => b - a));
  });

  test("no place → tried again soon where all may be well, and late where it is slow", () => {
    const { fill, line, pass } = makePlaces();
    fill(OWNERS, "crm");
    const pauses = [0, 99.6, 500, 3_000].map((ms) => {
      pass(ms);
      return line("another", "crm").pauseMs();
    });
    expect(pauses).toEqual([50, 100, 600, SLOW_MS]);
  });

  test("more keys than are remembered, of any length → those used longest ago are forgotten, those in use are not", () => {
    const { line, answer } = makePlaces();
    const busy = line("busy", "crm");
    busy.begin();
    for (let i = 0; i < 5; i++) answer("quick", "crm", 10);
    for (let i = 0; i < 10_001; i++) line(`${i} ${"x".repeat(100_000)}`, "other");
    expect(line("busy", "crm").hasPlace()).toBe(false);
    expect(line("quick", "crm").allowed()).toBe(1);
  });
});
