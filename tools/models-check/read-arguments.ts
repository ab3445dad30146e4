import { z } from "zod";
import { parseOptions } from "../../local/stack/command-line.ts";
import { httpUrl, readEnvironment, supabaseSecretKeys, supabaseUrl } from "../../shared/platform/environment.ts";
import type { RowSource } from "./read-rows.ts";

type CheckArguments = {
  rows: RowSource;
  /** Absent: the rows are compared with the recorded schemas. */
  provider?: { baseUrl: string; token: string };
  record: boolean;
  help: boolean;
};

const environmentOf = z.object({
  KEYFRAME_DATABASE_URL: z.string().optional(),
  SUPABASE_URL: supabaseUrl.optional(),
  SUPABASE_SECRET_KEYS: supabaseSecretKeys.optional(),
  SUPABASE_SECRET_KEY: z.string().optional(),
  KEYFRAME_REPLICATE_API_TOKEN: z.string().optional(),
  KEYFRAME_REPLICATE_API_BASE_URL: httpUrl.default("https://api.replicate.com/v1"),
});
type Environment = z.output<typeof environmentOf>;

/** Reads command line and environment. Throws one line that names what is wrong, never a secret. */
export function readArguments(args: string[], environment: (name: string) => string | undefined): CheckArguments {
  const given = parse(args);
  const env = readEnvironment(environmentOf, environment);
  const { KEYFRAME_REPLICATE_API_TOKEN: token, KEYFRAME_REPLICATE_API_BASE_URL: baseUrl } = env;
  if (given.record && given.recorded)
    throw new Error("--record reads from Replicate, --recorded does not: choose one.");
  if (given.record && token === undefined && !given.help) {
    throw new Error("--record reads from Replicate: set KEYFRAME_REPLICATE_API_TOKEN.");
  }
  const live = token !== undefined && !given.recorded;
  return {
    rows: chooseRows(given, env),
    ...(live ? { provider: { baseUrl, token } } : {}),
    record: given.record,
    help: given.help,
  };
}

function parse(args: string[]) {
  const { values } = parseOptions({
    args,
    options: {
      "database-url": { type: "string" },
      migrations: { type: "boolean", default: false },
      recorded: { type: "boolean", default: false },
      record: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  return values;
}

type Given = ReturnType<typeof parse>;

function chooseRows(given: Given, env: Environment): RowSource {
  if (given.migrations && given["database-url"] !== undefined) {
    throw new Error("--migrations and --database-url name two tables: choose one.");
  }
  if (given.migrations) return { from: "migrations" };
  const databaseUrl = given["database-url"] ?? env.KEYFRAME_DATABASE_URL;
  if (databaseUrl !== undefined) {
    if (/^postgres(ql)?:$/.test(URL.parse(databaseUrl)?.protocol ?? "")) return { from: "database", databaseUrl };
    // The value is not repeated: it may hold a password.
    throw new Error("The database's address must be like postgres://user:password@host:5432/postgres.");
  }
  const secretKey = env.SUPABASE_SECRET_KEY ?? env.SUPABASE_SECRET_KEYS;
  if (env.SUPABASE_URL === undefined || secretKey === undefined) return { from: "migrations" };
  return { from: "project", url: env.SUPABASE_URL, secretKey };
}
