import { readOutputFiles, readRecordedSchemas, recordedFolder } from "../../local/simulator/model-schemas.ts";
import { checkInput } from "../../local/simulator/check-input.ts";
import { alignColumns } from "../sql/run-statements.ts";
import { asksOf, completed, inputOf, type ModelRow } from "./row-inputs.ts";
import { type Found, ofProvider, ofRecord, type Provider, recordSchema } from "./schemas.ts";

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

/** An input that the model refuses, and when: with the defaults, or with one more value or image. */
type Finding = { step: string; model: string; requested: string; refused: string };
type Checked = { row: ModelRow; origin: string; findings: Finding[] };
type CheckResult = { checked: Checked[]; findings: Finding[] };

/** Compares every row with its model's schema. Throws when the provider cannot be reached. */
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
  const schemaOf = async (model: string) => (provider ? await ofProvider(model, provider) : ofRecord(recorded[model]));
  const found = new Map(await Promise.all(models.map(async (model) => [model, await schemaOf(model)] as const)));
  const checked = rows.map((row) => checkOne(row, found.get(row.model)));
  for (const [model, live] of record && provider ? found : []) {
    if (!("schema" in live) || live.version === undefined) continue;
    const url = `${provider?.baseUrl}/models/${model}`;
    await recordSchema({ model, version: live.version, openapi: live.openapi, url, date: today }, folder);
  }
  return { checked, findings: checked.flatMap(({ findings }) => findings) };
}

function checkOne(row: ModelRow, found: Found | undefined): Checked {
  const { step, model } = row;
  if (!found || "missing" in found) {
    return {
      row,
      origin: "none",
      findings: [{ step, model, requested: "any input", refused: found?.missing ?? "nothing" }],
    };
  }
  const findings = new Map<string, Finding>(); // each refusal once, by the first input that meets it
  for (const ask of asksOf(row)) {
    for (const { field, description } of checkInput({ input: found.schema }, inputOf(row, completed(row, ask)))) {
      const refused = `${field}: ${description}`;
      if (!findings.has(refused)) findings.set(refused, { step, model, requested: ask.what, refused });
    }
  }
  const mistake = outputMistake(row, found.openapi);
  if (mistake !== null) findings.set("output", { step, model, requested: "any input", refused: `output: ${mistake}` });
  return { row, origin: found.origin, findings: [...findings.values()] };
}

/** Why a run of this row would be paid for and its file not found, by the output that its model publishes. Null if it would be found. */
function outputMistake({ output = null }: ModelRow, openapi: unknown): string | null {
  const files = readOutputFiles(openapi);
  if (files === null) return null; // nothing is published, or anything
  const named = output?.replace(/\[\d+\]/g, "[]") ?? null;
  if (named !== null) {
    const isThere = files.some((at) => at === named || at.startsWith(`${named}[`) || at.startsWith(`${named}.`));
    return isThere
      ? null
      : `the row names ${output}, and the model returns ${listOf(files)}. Correct the column output.`;
  }
  if (files.length === 0) return "the model returns no file. Use another model.";
  if (files.length === 1) return null;
  return `the model returns several files: ${listOf(files)}. Name one in the column output.`;
}

const listOf = (files: string[]) =>
  files.length === 0 ? "no file" : files.map((at) => at || "one address").join(", ");

/** The printed report: a table, the findings, and the sum. */
export function report({ checked, findings }: CheckResult, rowsFrom: string): string {
  const sum = `${checked.length} rows of models, from ${rowsFrom}`;
  const verdict =
    findings.length === 0
      ? `All fit their model's schema: ${sum}.`
      : `${findings.length} ${findings.length === 1 ? "finding" : "findings"} in ${sum}.`;
  const wrong = findings.map(
    ({ step, model, requested, refused }) => `Wrong: ${step}  ${model}  with ${requested}: ${refused}`,
  );
  return [table(checked), ...(wrong.length > 0 ? [wrong.join("\n")] : []), verdict].join("\n\n");
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
  return alignColumns(lines, "  ").join("\n");
}
