import {
  type FieldSchema,
  type InputSchema,
  readInputSchema,
  readRecordedSchemas,
  recordedFolder,
  type RecordedSchema,
} from "../../local/simulator/model-schemas.ts";
import { checkInput } from "../../local/simulator/check-input.ts";
import { asksOf, completed, inputOf, type ModelRow } from "./row-inputs.ts";
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

/** What a row sends and its model refuses, and when: with the defaults, or with one value or image more. */
type Finding = { step: string; model: string; asked: string; refused: string };
type Checked = { row: ModelRow; origin: string; findings: Finding[] };
/** `notes` are for people; they do not fail the check. */
type CheckResult = { checked: Checked[]; findings: Finding[]; notes: string[] };

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
  const notes = provider ? drift(found, recorded, record ?? false) : [];
  if (provider && record) await writeAll(found, provider, folder, today);
  return { checked, findings: checked.flatMap(({ findings }) => findings), notes };
}

function checkOne(row: ModelRow, found: Found | undefined): Checked {
  const { step, model } = row;
  if (!found || "missing" in found) {
    return {
      row,
      origin: "none",
      findings: [{ step, model, asked: "any input", refused: found?.missing ?? "nothing" }],
    };
  }
  const findings = new Map<string, Finding>(); // each refusal once, by the first input that meets it
  for (const ask of asksOf(row)) {
    for (const { field, description } of checkInput({ input: found.schema }, inputOf(row, completed(row, ask)))) {
      const refused = `${field}: ${description}`;
      if (!findings.has(refused)) findings.set(refused, { step, model, asked: ask.what, refused });
    }
  }
  return { row, origin: found.origin, findings: [...findings.values()] };
}

/** Differences between recorded and published schemas: the simulator then differs from the provider too. */
function drift(found: Map<string, Found>, recorded: Record<string, RecordedSchema>, record: boolean): string[] {
  const ending = record ? "Written anew." : "Run with --record to write it anew.";
  return [...found].flatMap(([model, live]) => {
    if (!("schema" in live)) return [];
    const before = recorded[model];
    if (!before) return [`${model}: no schema of it is recorded. ${ending}`];
    const changes = compareSchemas(readInputSchema(before), live.schema);
    if (changes.length === 0) return [];
    return [`${model}: the recorded schema is not the published one: ${changes.join("; ")}. ${ending}`];
  });
}

async function writeAll(found: Map<string, Found>, { baseUrl }: Provider, folder: URL, date: string): Promise<void> {
  for (const [model, live] of found) {
    if (!("schema" in live) || live.version === undefined) continue;
    const { version, openapi } = live;
    await recordSchema({ model, version, openapi, url: `${baseUrl}/models/${model}`, date }, folder);
  }
}

/** The differences between a recorded and a published schema, field by field; descriptions and order do not count. */
function compareSchemas(recorded: InputSchema, live: InputSchema): string[] {
  const names = [...new Set([...Object.keys(live.fields), ...Object.keys(recorded.fields)])].sort();
  return names.flatMap((name) => {
    const before = recorded.fields[name];
    const now = live.fields[name];
    if (!now) return [`${name} is gone`];
    if (!before) return [`${name} is new (${describeField(now)})`];
    const changes = sameValues(before, now)
      ? []
      : [`${name} takes ${describeField(now)}, recorded is ${describeField(before)}`];
    const required = live.required.includes(name);
    if (required !== recorded.required.includes(name))
      changes.push(`${name} is ${required ? "now" : "no longer"} required`);
    return changes;
  });
}

function sameValues(a: FieldSchema, b: FieldSchema): boolean {
  return JSON.stringify(valuesOf(a)) === JSON.stringify(valuesOf(b));
}

function valuesOf({ type, format, enum: values, minimum, maximum, maxItems, items }: FieldSchema) {
  const sorted = values === undefined ? null : [...values].map((one) => JSON.stringify(one)).sort();
  return [type, format, sorted, minimum, maximum, maxItems, items?.type, items?.format];
}

/** What a field accepts, in a few words: `one of 5, 10`, `an integer from 3 to 15`, `a list of files`. */
function describeField(field: FieldSchema): string {
  if (field.enum) return `one of ${field.enum.map((one) => JSON.stringify(one)).join(", ")}`;
  if (field.type === "array") {
    const most = field.maxItems === undefined ? "" : `, at most ${field.maxItems}`;
    return `a list of ${field.items?.format === "uri" ? "files" : `${field.items?.type ?? "value"}s`}${most}`;
  }
  if (field.type === "string") return field.format === "uri" ? "one file" : "text";
  return `${field.type === "integer" ? "an integer" : `a ${field.type ?? "value"}`}${range(field)}`;
}

function range({ minimum, maximum }: FieldSchema): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` from ${minimum}`;
  return maximum === undefined ? "" : ` up to ${maximum}`;
}

/** The printed report: a table, the notes, the findings, and the sum. */
export function report({ checked, findings, notes }: CheckResult, rowsFrom: string): string {
  const sum = `${checked.length} rows of models, from ${rowsFrom}`;
  const verdict =
    findings.length === 0
      ? `Every one fits its model's schema: ${sum}.`
      : `${findings.length} ${findings.length === 1 ? "finding" : "findings"} in ${sum}.`;
  const blocks = [
    table(checked),
    notes.map((note) => `Note: ${note}`).join("\n"),
    findings
      .map((finding) => `Wrong: ${finding.step}  ${finding.model}  with ${finding.asked}: ${finding.refused}`)
      .join("\n"),
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
