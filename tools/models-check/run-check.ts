import { readRecordedSchemas, recordedFolder } from "../../local/simulator/model-schemas.ts";
import { checkRow, type Finding, findingLine } from "./check-row.ts";
import type { ModelRow } from "./read-rows.ts";
import { type Found, fromProvider, fromRecords, type Provider, recordSchema } from "./schemas.ts";

type CheckOptions = {
  rows: ModelRow[];
  /** Absent: the rows are compared with the recorded schemas. */
  provider?: Provider;
  record?: boolean;
  /** The folder of the recorded schemas; the repository's own by default. */
  folder?: URL;
  /** The date for newly recorded schemas, like 2026-11-21. */
  today: string;
};

type Checked = { row: ModelRow; origin: string; findings: Finding[] };
type CheckResult = { checked: Checked[]; findings: Finding[] };

/** Compares every row with its model's schema. Throws CheckFailed when the provider cannot be asked. */
export async function runCheck({
  rows,
  provider,
  record,
  folder = recordedFolder,
  today,
}: CheckOptions): Promise<CheckResult> {
  const recorded = readRecordedSchemas(folder);
  const used = rows.map(({ model }) => model);
  const models = [...new Set(record ? [...used, ...Object.keys(recorded)] : used)].sort();
  const found = provider ? await fromProvider(models, provider) : fromRecords(models, recorded);
  const checked = rows.map((row) => checkOne(row, found.get(row.model)));
  if (provider && record) await writeAll(found, provider, folder, today);
  return { checked, findings: checked.flatMap(({ findings }) => findings) };
}

function checkOne(row: ModelRow, found: Found | undefined): Checked {
  if (found && "schema" in found) return { row, origin: found.origin, findings: checkRow(row, found.schema) };
  const { missing: schema, todo } = found ?? { missing: "nothing", todo: "" };
  const finding = { step: row.step, model: row.model, column: "model", row: `"${row.model}"`, schema, todo };
  return { row, origin: "none", findings: [finding] };
}

async function writeAll(found: Map<string, Found>, { baseUrl }: Provider, folder: URL, date: string): Promise<void> {
  for (const [model, live] of found) {
    if (!("schema" in live) || live.version === undefined) continue;
    const { version, openapi } = live;
    await recordSchema({ model, version, openapi, url: `${baseUrl}/models/${model}`, date }, folder);
  }
}

/** The printed report: a table, the findings, and the sum. */
export function report({ checked, findings }: CheckResult, rowsFrom: string): string {
  const sum = `${checked.length} rows of models, from ${rowsFrom}`;
  const verdict =
    findings.length === 0
      ? `Every one fits its model's schema: ${sum}.`
      : `${findings.length} ${findings.length === 1 ? "finding" : "findings"} in ${sum}.`;
  const blocks = [table(checked), findings.map((finding) => `Wrong: ${findingLine(finding)}`).join("\n"), verdict];
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
