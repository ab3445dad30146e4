import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Benchmark, Result, Table } from "../../lab/bench/benchmark.ts";
import { BENCHMARKS } from "../../lab/bench/benchmarks.ts";
import { replaceSection } from "../../lab/bench/report/document.ts";
import { boundText, figure, spreadText } from "../../lab/bench/report/figures.ts";
import { benchmarkMarkdown } from "../../lab/bench/report/markdown.ts";
import { plotTable } from "../../lab/bench/report/plot.ts";
import { wrapText } from "../../lab/bench/report/wrap-text.ts";
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
  plot: "bars",
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
  const text = benchmarkMarkdown(BENCHMARK, RESULT, ["deliver.svg", "deliver-2.svg"]);

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

  test("→ its plots and notes", () => {
    expect(text).toContain("![deliver](benchmarks/deliver.svg)\n\n![deliver 2](benchmarks/deliver-2.svg)");
    expect(text.endsWith("- Two of them never answer.")).toBe(true);
  });

  test("without aims → no table of them", () => {
    expect(benchmarkMarkdown(BENCHMARK, { tables: [], aims: [] }, [])).toBe("What is done.");
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

describe("a plot", () => {
  /** The texts in it, by their content. */
  const textsOf = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);

  test("of bars → title with the unit, every name, every figure, a legend; nothing where there is no figure", () => {
    const texts = textsOf(plotTable(TABLE));
    for (const text of ["delivered, per second", "ours", "a | b", "3,150", "14.2", "healthy", "2 of 20 hang"])
      expect(texts).toContain(text);
    expect(texts).not.toContain("NaN");
    expect(texts).not.toContain("not built for it");
  });

  test("of bars → a whisker only where least and most differ", () => {
    const strokes = (table: Table) => plotTable(table).match(/stroke-width="1.5"/g)?.length ?? 0;
    const flat: Table = { ...TABLE, rows: [{ name: "ours", cells: [once(5), once(6)] }] };
    const spread: Table = { ...TABLE, rows: [{ name: "ours", cells: [{ median: 5, min: 4, max: 6 }, once(6)] }] };
    expect(strokes(flat)).toBe(0);
    expect(strokes(spread)).toBeGreaterThanOrEqual(3);
  });

  test("of bars → the axis reaches to the end of the longest whisker", () => {
    const svg = plotTable({ ...TABLE, rows: [{ name: "ours", cells: [{ median: 5, min: 4, max: 50 }, once(6)] }] });
    const ends = [...svg.matchAll(/d="M([\d.]+) [\d.]+L([\d.]+) [\d.]+" [^>]*stroke-width="1.5"/g)].flatMap(
      ([, a, b]) => [Number(a), Number(b)],
    );
    expect(ends.length).toBeGreaterThan(0);
    expect(Math.max(...ends)).toBeLessThanOrEqual(720 - 64);
  });

  test("one column → no legend, for there is nothing to tell apart", () => {
    const rows = [{ name: "ours", cells: [once(5)] }];
    expect(textsOf(plotTable({ ...TABLE, columns: ["deliveries"], rows }))).not.toContain("deliveries");
  });

  test("a long name → in lines, with room for each of its characters", () => {
    const name = "graphile-worker and fetch, signed and completed one by one";
    const svg = plotTable({ ...TABLE, rows: [{ name, cells: [once(5), once(6)] }] });
    expect(textsOf(svg).join(" ")).toContain("graphile-worker and fetch, signed and completed one by one");
    const widest = Math.max(...wrapText(name, 34).map(({ length }) => length));
    // Bars begin behind the names, each character as wide as those of a wide font.
    const bars = [...svg.matchAll(/<path d="M([\d.]+) [^"]*" fill="#3b82f6"/g)].map(([, x]) => Number(x));
    expect(bars.length).toBeGreaterThan(0);
    expect(Math.min(...bars)).toBeGreaterThan(widest * 7);
  });

  test("of lines → a line for each row over the columns, with a gap in the figures passed over", () => {
    const rows = [
      { name: "claim", cells: [once(1), { median: 2, min: 1, max: 3 }, once(3)] },
      { name: "status", cells: [once(4), null, once(5)] },
    ];
    const svg = plotTable({ ...TABLE, columns: ["10 k", "100 k", "1 M"], rows, plot: "lines" });
    for (const text of ["claim", "status", "10 k", "100 k", "1 M"]) expect(textsOf(svg)).toContain(text);
    expect(svg).not.toContain("NaN");
  });

  test("of lines → through the medians, wherever least and most lie", () => {
    const lineOf = (claim: Table["rows"][number]["cells"]) => {
      const rows = [
        { name: "claim", cells: claim },
        { name: "status", cells: [once(9), once(9)] },
      ];
      const svg = plotTable({ ...TABLE, columns: ["10 k", "1 M"], rows, plot: "lines" });
      return svg.match(/<path d="([^"]*)" fill="none"[^>]* stroke="#3b82f6" stroke-width="2"/)?.[1];
    };
    const flat = lineOf([once(2), once(3)]);
    expect(flat).toBeDefined();
    expect(lineOf([{ median: 2, min: 1, max: 8 }, once(3)])).toBe(flat);
  });
});

test("a text is broken between words; a word that is too long stands alone", () => {
  expect(wrapText("one two three", 7)).toEqual(["one two", "three"]);
  expect(wrapText("incomprehensibilities of it", 7)).toEqual(["incomprehensibilities", "of it"]);
});

test.each(BENCHMARKS)("$name → has its place in its document, under its title", async ({ name, title, document }) => {
  const text = await Deno.readTextFile(join(PROJECT_ROOT, "docs", document ?? "benchmarks.md"));
  const place = text.indexOf(`<!-- ${name}: written by npm run bench -->`);
  expect(
    text
      .slice(0, place)
      .match(/^## .*$/gm)
      ?.at(-1),
  ).toBe(`## ${title}`);
  expect(replaceSection(text, name, "new")).toContain("\n\nnew\n\n");
});
