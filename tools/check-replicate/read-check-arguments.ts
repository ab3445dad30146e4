import { parseOptions } from "../command-line.ts";
import { readEnvironment } from "../../shared/platform/environment.ts";
import { generateEnvironment } from "../../supabase/functions/keyframe-generate/environment.ts";
import { readArguments } from "../models-check/read-arguments.ts";
import { readRows, type RowSource } from "../models-check/read-rows.ts";
import type { ModelRow } from "../models-check/row-inputs.ts";

export type LiveCheckArguments = {
  help: boolean;
  /** The cost is accepted without a question. */
  yes: boolean;
  /** Null: nothing can be checked. */
  token: string | null;
  baseUrl: string;
  isAllowedOutput: (url: string) => boolean;
  rows: RowSource;
};

/** The provider's variables of the function `generate`; here the token may be missing. */
const providerEnvironment = generateEnvironment
  .pick({
    KEYFRAME_REPLICATE_API_TOKEN: true,
    KEYFRAME_REPLICATE_API_BASE_URL: true,
    KEYFRAME_REPLICATE_OUTPUT_HOSTS: true,
  })
  .partial({ KEYFRAME_REPLICATE_API_TOKEN: true });

/** Reads command line and environment. Throws one line that names what is wrong, never a secret. */
export function readCheckArguments(
  args: string[],
  environment: (name: string) => string | undefined,
): LiveCheckArguments {
  const {
    help,
    yes,
    migrations,
    "database-url": databaseUrl,
  } = parseOptions({
    args,
    options: {
      yes: { type: "boolean", short: "y", default: false },
      migrations: { type: "boolean", default: false },
      "database-url": { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  }).values;
  const env = readEnvironment(providerEnvironment, environment);
  // Chooses the table as models:check does.
  const chosen = readArguments(
    [...(migrations ? ["--migrations"] : []), ...(databaseUrl === undefined ? [] : ["--database-url", databaseUrl])],
    environment,
  );
  return {
    help,
    yes,
    token: env.KEYFRAME_REPLICATE_API_TOKEN ?? null,
    baseUrl: env.KEYFRAME_REPLICATE_API_BASE_URL,
    isAllowedOutput: env.KEYFRAME_REPLICATE_OUTPUT_HOSTS,
    rows: chosen.rows,
  };
}

/** The default model of first frames. Throws when it cannot be read. */
export async function readDefaultRow(rows: RowSource, signal: AbortSignal): Promise<ModelRow> {
  const all = await readRows(rows, signal);
  const row = all.find(({ step, is_default }) => step === "first-frame" && is_default);
  if (!row) throw new Error("step_defaults has no model for first-frame.");
  return row;
}
