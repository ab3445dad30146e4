import { describe, expect, inject, test } from "vitest";
import { createRandom } from "../../lab/chaos/random.ts";
import { requireEmpty } from "../../lab/chaos/faults.ts";
import { pairPrompt, planPrompt } from "../../lab/chaos/plan.ts";
import { readChaosArguments } from "../../lab/chaos/read-chaos-arguments.ts";
import { directives, faultNames, unknownDirective } from "../../local/simulator/faults.ts";

describe("the plan of a run", () => {
  test("ten thousand prompts → every fault of the simulator, none misspelt, and a good half without one", () => {
    const prompts = Array.from({ length: 10_000 }, (_, i) => planPrompt(createRandom(`prompt ${i}`), String(i)));
    expect([...prompts, pairPrompt("x")].map(unknownDirective).filter((found) => found !== null)).toEqual([]);
    const seen = new Set(prompts.flatMap((prompt) => [...directives(prompt).keys()]));
    expect([...seen].sort()).toEqual([...faultNames].sort());
    expect(prompts.filter((prompt) => directives(prompt).size === 0).length).toBeGreaterThan(4_500);
    expect(new Set(prompts).size).toBe(prompts.length);
  });
});

describe("the command line", () => {
  const now = new Date("2026-03-01T12:00:00Z");

  test("without options → five minutes and a seed of the clock; with them → those", () => {
    expect(readChaosArguments([], now)).toEqual({ minutes: 5, seed: 366_400, users: 16, help: false });
    const args = ["--minutes", "0.5", "--seed", "7", "--users", "3"];
    expect(readChaosArguments(args, now)).toEqual({ minutes: 0.5, seed: 7, users: 3, help: false });
  });

  test.for([
    ["--minutes", "0"],
    ["--minutes", ""],
    ["--seed", "1.5"],
    ["--users", "0"],
    ["--scenarios", "slow"],
    ["--speed", "1"],
  ])("%s %s → one line that names it", (args) => {
    expect(() => readChaosArguments(args, now)).toThrow(new RegExp(`^[^\n]*${args[0]}[^\n]*$`));
  });

  test("a given database that has been used → refused, and what to do", async () => {
    const used = requireEmpty(inject("stack").databaseUrl);
    await expect(used).rejects.toThrow(/has been used.*drop it and create it anew/);
  });
});
