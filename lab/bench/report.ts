import { join } from "node:path";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { type Aim, type Benchmark, isMet, type Result, type Table } from "./benchmark.ts";
import type { Machine, Spread } from "./measure.ts";

/** Writes a result into docs/benchmarks.md between the two comments with the benchmark's name. Other text stays. */
export async function writeResult(benchmark: Benchmark, result: Result, machine: Machine): Promise<void> {
  const { date, system, cores, processor, deno } = machine;
  const measured = `Measured on ${date}: ${system}, ${cores} cores (${processor}), Deno ${deno}.`;
  const section = `${measured} ${benchmarkMarkdown(benchmark, result)}`;
  const file = join(PROJECT_ROOT, "docs", "benchmarks.md");
  await Deno.writeTextFile(file, replaceSection(await Deno.readTextFile(file), benchmark.name, section));
}

/** Throws when the document has no section for it. */
export function replaceSection(document: string, name: string, section: string): string {
  const [begin, end] = [`<!-- ${name}: written by npm run bench -->`, `<!-- end of ${name} -->`];
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from === -1 || to < from) throw new Error(`The document has no section for ${name}: "${begin}" … "${end}".`);
  return `${document.slice(0, from)}${begin}\n\n${section}\n\n${document.slice(to)}`;
}

/** A benchmark's section: the work, the aims and the tables. */
export function benchmarkMarkdown({ work }: Benchmark, { tables, aims, notes = [] }: Result): string {
  const parts = [
    work,
    ...(aims.length === 0 ? [] : [aimsTable(aims)]),
    ...tables.map(valuesTable),
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

/** Three significant digits: 3,150 · 228 · 14.2 · 0.675. */
export function figure(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

/** `14.2 (11 to 19)` */
export const spreadText = ({ median, min, max }: Spread): string =>
  min === max ? figure(median) : `${figure(median)} (${figure(min)} to ${figure(max)})`;

/** `≥ 1.5` */
export function boundText({ atMost, atLeast }: Aim): string {
  const bounds = [...(atLeast === undefined ? [] : [`≥ ${atLeast}`]), ...(atMost === undefined ? [] : [`≤ ${atMost}`])];
  return bounds.join(", ") || "none";
}
