import { readOutputFiles } from "../../local/simulator/model-schemas.ts";
import type { ModelRow } from "./row-inputs.ts";

/** Why a run of this row would be paid and its file not found, by what its model publishes of its output; null: it would be found. */
export function outputMistake({ output = null }: ModelRow, openapi: unknown): string | null {
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
