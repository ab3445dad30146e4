import { join } from "node:path";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { type Aim, type Cost, isMet, type Result, type Table } from "./benchmark.ts";
import type { Machine, Spread } from "./measure.ts";

/** Writes a result into a page, between the two comments with its name. Other text stays. */
export async function writeBlock(page: string, name: string, block: string): Promise<void> {
  const file = join(PROJECT_ROOT, page);
  await Deno.writeTextFile(file, replaceBlock(await Deno.readTextFile(file), name, block));
}

/** Throws when the page has no place for it. */
export function replaceBlock(page: string, name: string, block: string): string {
  const [begin, end] = [`<!-- ${name}: written by npm run bench -- --write -->`, `<!-- end of ${name} -->`];
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from === -1 || to < from) throw new Error(`The page has no block for ${name}: "${begin}" … "${end}".`);
  return `${page.slice(0, from)}${begin}\n${block}\n${page.slice(to)}`;
}

/** When and where it was measured, the aims and the tables. */
export function blockOf({ aims, tables = [] }: Result, { date, system, cores, processor, deno }: Machine): string {
  const measured = `Measured on ${date}: ${system}, ${cores} cores (${processor}), Deno ${deno}.`;
  const shown = aims.length === 0 ? tables : [aimsTable(aims), ...tables];
  return [measured, ...shown.map(markdownOf)].join("\n\n");
}

const aimsTable = (aims: Aim[]): Table => ({ caption: "aim", columns: AIM_COLUMNS, rows: aims.map(rowOf) });

/** All aims, for lab/aims.md. */
export const summaryTable = (results: Record<string, Result>): Table => ({
  caption: "benchmark",
  columns: ["aim", ...AIM_COLUMNS],
  rows: Object.entries(results).flatMap(([benchmark, { aims }]) =>
    aims.map(rowOf).map(({ name, cells }) => ({ name: benchmark, cells: [name, ...cells] })),
  ),
});

const AIM_COLUMNS = ["figures", "measured", "bound", ""];

const rowOf = (aim: Aim): Table["rows"][number] => ({
  name: aim.name,
  cells: [figuresOf(aim), aim.value, boundOf(aim), isMet(aim) ? "met" : "**missed**"],
});

function markdownOf({ caption, columns, rows }: Table): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const text = (cell: Spread | number | string | null) =>
    cell === null ? "–" : typeof cell === "string" ? cell : typeof cell === "number" ? figure(cell) : spreadText(cell);
  return [
    line([caption, ...columns]),
    `|${"---|".repeat(columns.length + 1)}`,
    ...rows.map(({ name, cells }) => line([name, ...cells.map(text)])),
  ].join("\n");
}

/** Leaves half of the processors for everything else. */
const SHARE = 0.5;
const CORES = [2, 4, 16];

/** The load that a Postgres with this many cores handles, computed from the processor time of one operation. */
export const costsTable = (costs: Cost[]): Table => ({
  caption: "CPU ms per operation; operations a second at 50 % of Postgres' CPU",
  columns: ["Postgres, ms", "functions, ms", ...CORES.map((cores) => `${cores} cores`)],
  rows: costs.map(({ name, postgres, functions }) => ({
    name,
    cells: [postgres, functions, ...CORES.map((cores) => (cores * SHARE * 1000) / postgres)],
  })),
});

/** Three significant digits: 3,150 · 228 · 14.2 · 0.675. */
function figure(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

/** `14.2 (11 to 19)` */
const spreadText = ({ median, min, max }: Spread): string =>
  min === max ? figure(median) : `${figure(median)} (${figure(min)} to ${figure(max)})`;

/** `4,506 ÷ 5,553` of a ratio. */
const figuresOf = ({ value }: Aim): string =>
  "ours" in value ? `${figure(value.ours)} ÷ ${figure(value.theirs)}` : "";

/** `≥ 1.5` */
const boundOf = ({ atMost, atLeast }: Aim): string => (atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`);
