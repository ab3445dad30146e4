import { expect, inject, test } from "vitest";
import { createRandom } from "../../lab/chaos/random.ts";
import { requireEmpty } from "../../lab/chaos/faults.ts";
import { pairPrompt, planPrompt } from "../../lab/chaos/plan.ts";
import { directives, faultNames, unknownDirective } from "../../local/simulator/faults.ts";

test("ten thousand prompts → every fault of the simulator, none misspelt, and a good half without one", () => {
  const prompts = Array.from({ length: 10_000 }, (_, i) => planPrompt(createRandom(`prompt ${i}`), String(i)));
  expect([...prompts, pairPrompt("x")].map(unknownDirective).filter((found) => found !== null)).toEqual([]);
  const seen = new Set(prompts.flatMap((prompt) => [...directives(prompt).keys()]));
  expect([...seen].sort()).toEqual([...faultNames].sort());
  expect(prompts.filter((prompt) => directives(prompt).size === 0).length).toBeGreaterThan(4_500);
  expect(new Set(prompts).size).toBe(prompts.length);
});

test("a given database that has been used → refused, and what to do", async () => {
  const used = requireEmpty(inject("stack").databaseUrl);
  await expect(used).rejects.toThrow(/has been used.*drop it and create it anew/);
});
