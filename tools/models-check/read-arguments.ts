import { z } from "zod";
import { parseOptions } from "../../local/stack/command-line.ts";
import { httpUrl, readEnvironment, supabaseSecretKeys } from "../../shared/platform/environment.ts";
import type { RowSource } from "./read-rows.ts";

const environmentOf = z.object({
  SUPABASE_URL: httpUrl.optional(),
  SUPABASE_SECRET_KEYS: supabaseSecretKeys.optional(),
  SUPABASE_SECRET_KEY: z.string().optional(),
  KEYFRAME_REPLICATE_API_TOKEN: z.string().optional(),
  KEYFRAME_REPLICATE_API_BASE_URL: httpUrl.default("https://api.replicate.com/v1"),
});

/** Reads command line and environment. Without `provider` the rows are compared with the recorded schemas. Throws one line that names what is
 * wrong, never a secret. */
export function readArguments(args: string[], environment: (name: string) => string | undefined) {
  const { record } = parseOptions({ args, options: { record: { type: "boolean", default: false } } }).values;
  const env = readEnvironment(environmentOf, environment);
  const { KEYFRAME_REPLICATE_API_TOKEN: token, KEYFRAME_REPLICATE_API_BASE_URL: baseUrl } = env;
  if (record && token === undefined) {
    throw new Error("--record reads from Replicate: set KEYFRAME_REPLICATE_API_TOKEN.");
  }
  return { rows: chooseRows(env), provider: token === undefined ? undefined : { baseUrl, token }, record };
}

function chooseRows(env: z.output<typeof environmentOf>): RowSource {
  const secretKey = env.SUPABASE_SECRET_KEY ?? env.SUPABASE_SECRET_KEYS;
  if (env.SUPABASE_URL === undefined || secretKey === undefined) return { from: "migrations" };
  return { from: "project", url: env.SUPABASE_URL, secretKey };
}
