import { join } from "node:path";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import type { Benchmark, Result } from "../benchmark.ts";
import type { Machine } from "../measure/machine.ts";
import { benchmarkMarkdown } from "./markdown.ts";
import { plotTable } from "./plot.ts";

const DOCUMENTS = join(PROJECT_ROOT, "docs");
const PLOTS = join(PROJECT_ROOT, "docs", "benchmarks");

/**
 * Writes a result into its document, between the two comments that carry the benchmark's name, and its plots beside it.
 * What people wrote around them stays.
 */
export async function writeResult(benchmark: Benchmark, result: Result, machine: Machine): Promise<void> {
  await Deno.mkdir(PLOTS, { recursive: true });
  const plotted = result.tables.filter(({ plot }) => plot !== undefined);
  const files = plotted.map((_, index) => `${benchmark.name}${index === 0 ? "" : `-${index + 1}`}.svg`);
  for (const [index, table] of plotted.entries())
    await Deno.writeTextFile(join(PLOTS, files[index] ?? ""), plotTable(table));

  const { date, system, cores, processor, deno } = machine;
  const measured = `Measured on ${date}: ${system}, ${cores} cores (${processor}), Deno ${deno}.`;
  const section = `${measured} ${benchmarkMarkdown(benchmark, result, files)}`;
  const file = join(DOCUMENTS, benchmark.document ?? "benchmarks.md");
  await Deno.writeTextFile(file, replaceSection(await Deno.readTextFile(file), benchmark.name, section));
}

/** Throws when the document has no place for it. */
export function replaceSection(document: string, name: string, section: string): string {
  const [begin, end] = [`<!-- ${name}: written by npm run bench -->`, `<!-- end of ${name} -->`];
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from === -1 || to < from) throw new Error(`The document has no section for ${name}: "${begin}" … "${end}".`);
  return `${document.slice(0, from)}${begin}\n\n${section}\n\n${document.slice(to)}`;
}
