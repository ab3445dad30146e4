import { findingLine, noteLine } from "./finding.ts";
import type { Checked, CheckResult } from "./run-check.ts";

/** What the command prints: a table of what was checked, the notes, the findings, and the sum. */
export function report({ checked, findings, notes }: CheckResult, rowsFrom: string): string {
  const sum = `${checked.length} rows of models, from ${rowsFrom}`;
  const verdict =
    findings.length === 0
      ? `Every one fits its model's schema: ${sum}.`
      : `${findings.length} ${findings.length === 1 ? "finding" : "findings"} in ${sum}.`;
  const blocks = [
    table(checked),
    notes.map((note) => `Note: ${noteLine(note)}`).join("\n"),
    findings.map((finding) => `Wrong: ${findingLine(finding)}`).join("\n"),
    verdict,
  ];
  return blocks.filter((block) => block !== "").join("\n\n");
}

function table(checked: Checked[]): string {
  const lines = [
    ["step", "model", "schema", "result"],
    ...checked.map(({ row, origin, findings }) => [
      row.step,
      row.is_default ? `${row.model} (default)` : row.model,
      origin,
      findings.length === 0 ? "fits" : `${findings.length} wrong`,
    ]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
