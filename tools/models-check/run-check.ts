import {
  readInputSchema,
  readRecordedSchemas,
  recordedFolder,
  type RecordedSchema,
} from "../../local/simulator/model-schemas.ts";
import { checkRow } from "./check-row.ts";
import { compareSchemas } from "./compare-schemas.ts";
import type { Provider } from "./fetch-schema.ts";
import type { Finding, Note } from "./finding.ts";
import type { ModelRow } from "./model-row.ts";
import { noteRow } from "./note-row.ts";
import { type Found, fromProvider, fromRecords } from "./read-schemas.ts";
import { recordSchema } from "./record-schema.ts";

export type CheckOptions = {
  rows: ModelRow[];
  /** Absent: the recorded schemas are what the rows are compared with. */
  provider?: Provider;
  record?: boolean;
  /** Where the recorded schemas are; the repository's own by default. */
  folder?: URL;
  /** The day, as 2026-11-21, that a newly recorded schema is said to be of. */
  today: string;
};

export type Checked = { row: ModelRow; origin: string; findings: Finding[] };
export type CheckResult = { checked: Checked[]; findings: Finding[]; notes: Note[] };

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
  const notes = checked.flatMap(({ row }) => notesOf(row, found.get(row.model)));
  if (provider) notes.push(...drift(found, recorded, record ?? false));
  if (provider && record) await writeAll(found, provider, folder, today);
  return { checked, findings: checked.flatMap(({ findings }) => findings), notes };
}

function checkOne(row: ModelRow, found: Found | undefined): Checked {
  if (found && "schema" in found) return { row, origin: found.origin, findings: checkRow(row, found.schema) };
  const { missing: schema, todo } = found ?? { missing: "nothing", todo: "" };
  const finding = { step: row.step, model: row.model, column: "model", row: `"${row.model}"`, schema, todo };
  return { row, origin: "none", findings: [finding] };
}

function notesOf(row: ModelRow, found: Found | undefined): Note[] {
  if (!found || !("schema" in found)) return [];
  return noteRow(row, found.schema).map((text) => ({ step: row.step, model: row.model, text }));
}

/** Where the repository's records are not what the provider publishes now: the simulator then is not like it either. */
function drift(found: Map<string, Found>, recorded: Record<string, RecordedSchema>, record: boolean): Note[] {
  const ending = record ? "Written anew." : "Run with --record to write it anew.";
  return [...found].flatMap(([model, live]): Note[] => {
    if (!("schema" in live)) return [];
    const before = recorded[model];
    if (!before) return [{ step: "", model, text: `no schema of it is recorded. ${ending}` }];
    const changes = compareSchemas(readInputSchema(before), live.schema);
    if (changes.length === 0) return [];
    return [
      { step: "", model, text: `the recorded schema is not the published one: ${changes.join("; ")}. ${ending}` },
    ];
  });
}

async function writeAll(found: Map<string, Found>, { baseUrl }: Provider, folder: URL, date: string): Promise<void> {
  for (const [model, live] of found) {
    if (!("schema" in live) || live.version === undefined) continue;
    const { version, openapi } = live;
    await recordSchema({ model, version, openapi, url: `${baseUrl}/models/${model}`, date }, folder);
  }
}
