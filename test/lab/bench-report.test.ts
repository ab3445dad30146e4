import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Benchmark, Result, Table } from "../../lab/bench/benchmark.ts";
import { BENCHMARKS } from "../../lab/bench/benchmarks.ts";
import { benchmarkMarkdown, boundText, figure, replaceSection, spreadText } from "../../lab/bench/report.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";

const once = (value: number) => ({ median: value, min: value, max: value });

const TABLE: Table = {
  caption: "delivered",
  unit: "per second",
  columns: ["healthy", "2 of 20 hang"],
  rows: [
    {
      name: "ours",
      cells: [
        { median: 3150, min: 2900, max: 3321 },
        { median: 14.237, min: 11, max: 19 },
      ],
    },
    { name: "a | b", cells: ["not built for it", null] },
  ],
};
const RESULT: Result = {
  tables: [TABLE],
  aims: [
    { name: "beside the best peer", ratio: { median: 1.4999, min: 1.2, max: 1.7 }, atLeast: 1.5 },
    { name: "with slow receivers", ratio: once(1.2), atMost: 1.2 },
  ],
  notes: ["Two of them never answer."],
};
const BENCHMARK: Benchmark = { name: "deliver", title: "Delivering", work: "What is done.", run: async () => RESULT };

describe("a figure", () => {
  test.each([
    [3150.4, "3,150"],
    [228.4, "228"],
    [14.237, "14.2"],
    [0.6749, "0.675"],
    [0, "0"],
    [99.96, "100"],
  ])("%d → %s", (value, text) => {
    expect(figure(value)).toBe(text);
  });

  test("a spread → the range only where there is one", () => {
    expect(spreadText({ median: 14.2, min: 11, max: 19 })).toBe("14.2 (11 to 19)");
    expect(spreadText(once(7))).toBe("7");
  });

  test.each([
    [{ atLeast: 1.5 }, "≥ 1.5"],
    [{ atMost: 1.2 }, "≤ 1.2"],
    [{ atLeast: 0.9, atMost: 1.1 }, "≥ 0.9, ≤ 1.1"],
    [{}, "none"],
  ])("the bounds %j → %s", (bounds, text) => {
    expect(boundText({ name: "x", ratio: once(1), ...bounds })).toBe(text);
  });
});

describe("a benchmark's section", () => {
  const text = benchmarkMarkdown(BENCHMARK, RESULT);

  test("→ what was done, then the aims: one a hair below is missed, one just met is met", () => {
    expect(text.split("\n\n").slice(0, 2)).toEqual([
      "What is done.",
      `| ratio | measured | aim |  |
|---|---|---|---|
| beside the best peer | 1.5 (1.2 to 1.7) | ≥ 1.5 | **missed** |
| with slow receivers | 1.2 | ≤ 1.2 | met |`,
    ]);
  });

  test("→ each table with its unit, ranges, words, gaps, and bars that are no columns", () => {
    expect(text).toContain(`| delivered, per second | healthy | 2 of 20 hang |
|---|---|---|
| ours | 3,150 (2,900 to 3,321) | 14.2 (11 to 19) |
| a \\| b | not built for it | – |`);
  });

  test("→ its notes", () => {
    expect(text.endsWith("- Two of them never answer.")).toBe(true);
  });

  test("without aims → no table of them", () => {
    expect(benchmarkMarkdown(BENCHMARK, { tables: [], aims: [] })).toBe("What is done.");
  });
});

describe("the document", () => {
  const mark = (name: string, content: string) =>
    `<!-- ${name}: written by npm run bench -->\n\n${content}\n\n<!-- end of ${name} -->`;

  test("a result → stands between its own marks; prose and other sections stay as they were", () => {
    const before = `# B\n\nProse.\n\n${mark("api", "old api")}\n\nWhat helped.\n\n${mark("cold", "old cold")}\n\nEnd.\n`;
    const after = `# B\n\nProse.\n\n${mark("api", "new\n\ntext")}\n\nWhat helped.\n\n${mark("cold", "old cold")}\n\nEnd.\n`;
    expect(replaceSection(before, "api", "new\n\ntext")).toBe(after);
    expect(replaceSection(after, "api", "old api")).toBe(before);
  });

  test("→ never doubled by writing twice, nor changed by what a replacement pattern would mean", () => {
    const document = mark("api", "");
    expect(replaceSection(replaceSection(document, "api", "$& $1"), "api", "$& $1")).toBe(mark("api", "$& $1"));
  });

  test.each([["nothing"], ["<!-- end of api -->\n<!-- api: written by npm run bench -->"], [mark("apis", "x")]])(
    "without a place for it (%j) → refused",
    (document) => {
      expect(() => replaceSection(document, "api", "x")).toThrow("no section for api");
    },
  );
});

test.each(BENCHMARKS)("$name → has its place in its document, under its title", async ({ name, title }) => {
  const text = await Deno.readTextFile(join(PROJECT_ROOT, "docs", "benchmarks.md"));
  const place = text.indexOf(`<!-- ${name}: written by npm run bench -->`);
  expect(
    text
      .slice(0, place)
      .match(/^## .*$/gm)
      ?.at(-1),
  ).toBe(`## ${title}`);
  expect(replaceSection(text, name, "new")).toContain("\n\nnew\n\n");
});
