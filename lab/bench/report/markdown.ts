import { type Benchmark, isMet, type Result, type Table } from "../benchmark.ts";
import { boundText, spreadText } from "./figures.ts";

/** A benchmark's section: what it did, its aims, its tables, and a plot of each table that has one. */
export function benchmarkMarkdown({ work }: Benchmark, { tables, aims, notes = [] }: Result, plots: string[]): string {
  const parts = [
    work,
    ...(aims.length === 0 ? [] : [aimsTable(aims)]),
    ...tables.map(valuesTable),
    ...plots.map((file) => `![${file.replace(/\.svg$/, "").replaceAll("-", " ")}](benchmarks/${file})`),
    ...(notes.length === 0 ? [] : [notes.map((note) => `- ${note}`).join("\n")]),
  ];
  return parts.join("\n\n");
}

const aimsTable = (aims: Result["aims"]): string =>
  rows([
    ["ratio", "measured", "aim", ""],
    ...aims.map((aim) => [aim.name, spreadText(aim.ratio), boundText(aim), isMet(aim) ? "met" : "**missed**"]),
  ]);

function valuesTable({ caption, unit, columns, rows: lines }: Table): string {
  const cells = lines.map(({ name, cells }) => [
    name,
    ...cells.map((cell) => (cell === null ? "–" : typeof cell === "string" ? cell : spreadText(cell))),
  ]);
  return rows([[`${caption}, ${unit}`, ...columns], ...cells]);
}

/** The first line is the head. */
function rows([head = [], ...lines]: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...lines.map(line)].join("\n");
}
