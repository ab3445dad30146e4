import type { ModelRow } from "../models-check/model-row.ts";
import { readRows, type RowSource } from "../models-check/read-rows.ts";

/** The row of the model that makes first frames unless somebody asks for another. Throws when it cannot be read. */
export async function readDefaultRow(rows: RowSource, signal: AbortSignal): Promise<ModelRow> {
  const all = await readRows(rows, signal);
  const row = all.find(({ step, is_default }) => step === "first-frame" && is_default);
  if (!row) throw new Error("models has no default model for first-frame.");
  return row;
}
