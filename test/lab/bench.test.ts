import { expect, test } from "vitest";
import type { Result } from "../../lab/bench/benchmark.ts";
import { type Machine, measureInTurn, quantile, ratioOf, spreadOf } from "../../lab/bench/measure.ts";
import { blockOf, replaceBlock } from "../../lab/bench/report.ts";

test("a spread → median, least and most; a ratio → of the medians, with the range from round to round; nothing, or no number → refused", () => {
  expect(spreadOf([9, 1, 4])).toEqual({ median: 4, min: 1, max: 9 });
  expect(ratioOf([2, 4, 6], [1, 4, 2])).toEqual({ median: 2, min: 1, max: 3 });
  expect([quantile([10, 0], 0.25), quantile([3], 0.95), quantile([], 0.5)]).toEqual([2.5, 3, Number.NaN]);
  for (const values of [[], [1, Number.NaN]]) expect(() => spreadOf(values)).toThrow("No spread of");
  expect(() => ratioOf([1, 2], [1])).toThrow("2 measurements compared with 1");
  expect(() => ratioOf([1], [0])).toThrow("No spread of");
});

test("ways are measured in turn, every other round backwards, and each keeps the order of its rounds", async () => {
  const order: string[] = [];
  const way = (name: string, values: number[]) => async () => {
    order.push(name);
    return values.shift() ?? Number.NaN;
  };
  const ways = { ours: way("ours", [1, 2, 3]), theirs: way("theirs", [10, 20, 30]) };
  expect(await measureInTurn(ways, 3, () => undefined)).toEqual({ ours: [1, 2, 3], theirs: [10, 20, 30] });
  expect(order).toEqual(["ours", "theirs", "theirs", "ours", "ours", "theirs"]);
});

const once = (value: number) => ({ median: value, min: value, max: value });
const MACHINE: Machine = { date: "2026-02-03", system: "linux x86_64", cores: 2, processor: "Some", deno: "2.9.6" };

test("a result → when and where, aims met or missed, and tables with ranges, text and gaps", () => {
  const result: Result = {
    aims: [
      { name: "the best peer", value: { median: 1.4999, min: 1.2, max: 1.7 }, atLeast: 1.5 },
      { name: "slow receivers", value: once(1.2), atMost: 1.2 },
    ],
    tables: [
      {
        caption: "delivered",
        columns: ["per second", "ms"],
        rows: [
          { name: "ours", cells: [{ median: 3150.4, min: 2900, max: 3321 }, once(0.6749)] },
          { name: "a | b", cells: ["not built for it", null] },
        ],
      },
    ],
  };
  expect(blockOf(result, MACHINE)).toBe(`Measured on 2026-02-03: linux x86_64, 2 cores (Some), Deno 2.9.6.

| aim | bound | measured |  |
|---|---|---|---|
| the best peer | ≥ 1.5 | 1.5 (1.2 to 1.7) | **missed** |
| slow receivers | ≤ 1.2 | 1.2 | met |

| delivered | per second | ms |
|---|---|---|
| ours | 3,150 (2,900 to 3,321) | 0.675 |
| a \\| b | not built for it | – |`);
});

test("a block → replaced between its own marks; the rest of the page stays. Without marks → refused", () => {
  const mark = (name: string, content: string) =>
    `<!-- ${name}: written by npm run bench -- --write -->\n${content}\n<!-- end of ${name} -->`;
  const page = (api: string) => `# B\n\nProse.\n\n${mark("api", api)}\n\nWhy.\n\n${mark("cold", "old cold")}\n`;
  expect(replaceBlock(page("old"), "api", "$& new")).toBe(page("$& new"));
  expect(replaceBlock(page("$& new"), "api", "$& new")).toBe(page("$& new"));
  expect(() => replaceBlock(mark("apis", "x"), "api", "x")).toThrow("no block for api");
});
