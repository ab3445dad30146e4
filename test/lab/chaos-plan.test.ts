import { describe, expect, inject, test } from "vitest";
import { createRandom } from "../../lab/chaos/random.ts";
import { describeGiven, requireEmpty } from "../../lab/chaos/faults.ts";
import { FAULT_NAMES, pairPrompt, planFaults, planPrompt } from "../../lab/chaos/plan.ts";
import { readChaosArguments } from "../../lab/chaos/read-chaos-arguments.ts";
import { countBroken, describeResult } from "../../lab/chaos/report.ts";
import type { Installed } from "../../local/extensions/install-extensions.ts";
import { directives, faultNames, unknownDirective } from "../../local/simulator/faults.ts";

const MINUTE = 60_000;
const now = new Date("2026-03-01T12:00:00Z");

describe("the plan of a run", () => {
  test("the same seed → the same plan", () => {
    expect(planFaults(7, MINUTE)).toEqual(planFaults(7, MINUTE));
  });

  test("another seed → another plan", () => {
    expect(planFaults(8, MINUTE)).not.toEqual(planFaults(7, MINUTE));
  });

  test.for([20_000, MINUTE, 15 * MINUTE])("of %d ms → every fault, within the run, in order of time", (durationMs) => {
    const plan = planFaults(3, durationMs);
    expect(new Set(plan.map(({ fault }) => fault))).toEqual(new Set(FAULT_NAMES));
    expect(plan.every(({ atMs, forMs }) => atMs >= 0 && atMs < durationMs && forMs > 0)).toBe(true);
    expect(plan.map(({ atMs }) => atMs)).toEqual(plan.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
  });

  test("of a quarter of an hour → each fault several times, cron away for a minute", () => {
    const plan = planFaults(3, 15 * MINUTE);
    for (const name of FAULT_NAMES) expect(plan.filter(({ fault }) => fault === name).length, name).toBeGreaterThan(5);
    expect(plan.find(({ fault }) => fault === "cron_stopped")?.forMs).toBe(MINUTE);
  });
});

describe("prompts", () => {
  const prompts = Array.from({ length: 10_000 }, (_, i) => planPrompt(createRandom(`prompt ${i}`), String(i)));

  test("of ten thousand → every fault of the simulator, none misspelt, and a good half without one", () => {
    expect(prompts.map(unknownDirective).filter((found) => found !== null)).toEqual([]);
    const seen = new Set(prompts.flatMap((prompt) => [...directives(prompt).keys()]));
    expect([...seen].sort()).toEqual([...faultNames].sort());
    const without = prompts.filter((prompt) => directives(prompt).size === 0).length;
    expect(without).toBeGreaterThan(4_500);
    expect(prompts.some((prompt) => directives(prompt).size === 2)).toBe(true);
  });

  test("of a pair → both lose their answers and every callback", () => {
    expect(unknownDirective(pairPrompt("x"))).toBeNull();
    expect([...directives(pairPrompt("x"))]).toEqual([
      ["lost_answer", "2"],
      ["callback_lost", ""],
    ]);
  });

  test("no two are equal", () => {
    expect(new Set(prompts).size).toBe(prompts.length);
  });
});

describe("dice", () => {
  test("the same name → the same throws, another name → others", () => {
    const throws = (name: string) => {
      const dice = createRandom(name);
      return Array.from({ length: 20 }, () => [dice.whole(1, 6), dice.pick("abc".split("")), dice.hex()]);
    };
    expect(throws("a")).toEqual(throws("a"));
    expect(throws("a")).not.toEqual(throws("b"));
  });

  test("weighted → as often as the weights say, never what weighs nothing", () => {
    const dice = createRandom("weights");
    const counts = { often: 0, seldom: 0, never: 0 };
    for (let i = 0; i < 4_000; i++) counts[dice.weighted({ often: 3, seldom: 1, never: 0 })] += 1;
    expect(counts.often / counts.seldom).toBeCloseTo(3, 0);
    expect(counts.never).toBe(0);
  });

  test("shuffled → the same things in another order", () => {
    const things = Array.from({ length: 50 }, (_, i) => i);
    const shuffled = createRandom("cards").shuffled(things);
    expect(shuffled).not.toEqual(things);
    expect(shuffled.toSorted((a, b) => a - b)).toEqual(things);
  });
});

describe("arguments", () => {
  test("none → five minutes and a seed of the clock", () => {
    expect(readChaosArguments([], now)).toEqual({ minutes: 5, seed: 366_400, users: 16, help: false });
  });

  test("--minutes 0.5 --seed 7 --users 3 → those", () => {
    const args = ["--minutes", "0.5", "--seed", "7", "--users", "3"];
    expect(readChaosArguments(args, now)).toEqual({ minutes: 0.5, seed: 7, users: 3, help: false });
  });

  test.for([
    ["--minutes", "0"],
    ["--minutes", ""],
    ["--seed", "1.5"],
    ["--seed", "x"],
    ["--users", "0"],
    ["--speed", "1"],
  ])("%s %s → one line that names it", (args) => {
    expect(() => readChaosArguments(args, now)).toThrow(new RegExp(`^[^\n]*${args[0]}[^\n]*$`));
  });
});

describe("on a given Postgres", () => {
  test("a database that has been used → refused, and what to do", async () => {
    await expect(requireEmpty(inject("stack").databaseUrl)).rejects.toThrow(
      /has been used.*drop it and create it anew/,
    );
  });

  test("what cannot be done to its server → a sentence for each fault, which names it", () => {
    const real: Installed = { pg_net: "real", pg_cron: "real", supabase_vault: "real", notes: [] };
    const [postgres = "", scheduler = "", hangs = "", ...others] = describeGiven({ extensions: real });
    expect(postgres).toMatch(/^kill postgres: .*not killed.*workers of pg_net and pg_cron were ended, by SQL\.$/);
    expect(scheduler).toMatch(/^kill scheduler: .*by SQL\.$/);
    expect(hangs).toMatch(/^scheduler hangs: .*did not hang/);
    expect(others).toEqual([]);
    const standIns: Installed = { ...real, pg_net: "stand-in", pg_cron: "stand-in" };
    expect(describeGiven({ extensions: standIns })).toHaveLength(1);
  });
});

test("a report names each invariant, each fault, and examples of violations", () => {
  const result = {
    verdicts: [
      { name: "a", sentence: "it holds", broken: [] },
      { name: "b", sentence: "it held", broken: ["row 1", "row 2"] },
    ],
    applied: new Map([["kill_api", 3]]),
    notApplied: new Map([["deadlock", 1]]),
    calls: new Map([["ok", 1234]]),
    figures: { events: 7 },
    remarks: ["kill postgres: every connection was cut instead."],
  };
  const text = describeResult(result);
  expect(countBroken(result)).toBe(1);
  for (const line of [
    "| it holds | holds |",
    "| it held | broken 2 times (b) |",
    "| kill api | 3 | 0 |",
    "| deadlock | 0 | 1 |",
    "| ok | 1,234 |",
    "| events | 7 |",
    "b: row 2",
    "kill postgres: every connection was cut instead.",
  ]) {
    expect(text.split("\n")).toContain(line);
  }
});
