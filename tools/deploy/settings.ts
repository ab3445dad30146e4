import type { z } from "zod";
import { parseOptions } from "../../command-line/run-main.ts";
import { FUNCTION_NAMES, type FunctionName } from "../../local/stack/function-arguments.ts";
import { functionEnvironments } from "../../shared/platform/environment.ts";
import { BUDGET_OPTIONS, type Budgets, readBudgets } from "../budgets.ts";
import { DeployError } from "./reporting.ts";
import type { Database } from "./supabase-cli.ts";

type DeployArguments = {
  project: string;
  dryRun: boolean;
  /** The database was copied or moved from another project, and is to work for this one. */
  moved: boolean;
  functions: FunctionName[];
  budgets: Budgets;
};

/** Reads the command line. Throws one line that names what is wrong. */
export function readDeployArguments(args: string[]): DeployArguments {
  const options = {
    project: { type: "string" },
    "dry-run": { type: "boolean", default: false },
    moved: { type: "boolean", default: false },
    "without-mcp": { type: "boolean", default: false },
    ...BUDGET_OPTIONS,
  } as const;
  const {
    project,
    "dry-run": dryRun,
    moved,
    "without-mcp": withoutMcp,
    ...given
  } = parseOptions({ args, options }).values;
  if (project === undefined) throw new DeployError("Say which project: npm run deploy -- --project <ref>");
  if (!/^[a-z]{20}$/.test(project)) {
    throw new DeployError(
      "--project must be the project's ref: the 20 lowercase letters in its address, https://<ref>.supabase.co.",
    );
  }
  const functions = FUNCTION_NAMES.filter((name) => !withoutMcp || name !== "keyframe-mcp");
  return { project, dryRun, moved, functions, budgets: readBudgets(given) };
}

/** Variables that are passed on to the functions when they are set here; see docs/deploy.md. */
const OPTIONAL_SECRETS = [
  "KEYFRAME_CLIENT_URL",
  "KEYFRAME_JWT_SECRET",
  "KEYFRAME_PUBLIC_URL",
  "KEYFRAME_REPLICATE_API_BASE_URL",
  "KEYFRAME_REPLICATE_OUTPUT_HOSTS",
] as const;

/** The functions' own checks: a variable that fails them would end a function at its start. */
const SHAPES: Record<string, z.ZodType>[] = Object.values(functionEnvironments).map(({ shape }) => shape);

export type DeploySettings = DeployArguments & {
  /** The project's URL on the platform; kicks go there. */
  projectUrl: string;
  /** The URL for apps: a custom domain, or projectUrl. */
  clientUrl: string;
  replicate: { token: string | undefined; baseUrl: string };
  /** Where the migrations go when the CLI cannot reach the database itself. */
  database: Database | undefined;
  optional: Record<string, string>;
};

/** Reads the environment. Throws one line that names a wrong variable, never its value. */
export function readDeploySettings(given: DeployArguments, environment: Record<string, string>): DeploySettings {
  const get = (name: string) => environment[name]?.trim() || undefined;
  const checked = (name: string) => {
    const value = get(name);
    return value === undefined ? undefined : checkVariable(name, value);
  };
  const optional: Record<string, string> = {};
  for (const name of OPTIONAL_SECRETS) {
    const value = checked(name);
    if (value !== undefined) optional[name] = value;
  }
  const databaseUrl = get("SUPABASE_DB_URL");
  const projectUrl = `https://${given.project}.supabase.co`;
  return {
    ...given,
    projectUrl,
    clientUrl: optional.KEYFRAME_CLIENT_URL ?? projectUrl,
    replicate: {
      token: checked("KEYFRAME_REPLICATE_API_TOKEN"),
      baseUrl: optional.KEYFRAME_REPLICATE_API_BASE_URL ?? "https://api.replicate.com/v1",
    },
    database: databaseUrl === undefined ? undefined : readDatabaseUrl(databaseUrl),
    optional,
  };
}

/** The value as the functions read it, where that is text: a URL loses the slash at its end. */
function checkVariable(name: string, value: string): string {
  if (/['\r\n]/.test(value)) throw new DeployError(`${name} must not contain ' or a line break.`);
  let read = value;
  for (const schema of SHAPES.flatMap((shape) => shape[name] ?? [])) {
    const parsed = schema.safeParse(value);
    if (!parsed.success) throw new DeployError(`${name} is wrong: it ${parsed.error.issues[0]?.message}.`);
    if (typeof parsed.data === "string") read = parsed.data;
  }
  return read;
}

/** The address without its password, which anyone could read in a command line. Throws one line without its value when it is invalid. */
function readDatabaseUrl(text: string): Database {
  const url = URL.parse(text);
  const isEncoded = !/%(?![0-9a-f]{2})/i.test(text);
  if (url && /^postgres(ql)?:$/.test(url.protocol) && isEncoded && !url.searchParams.has("password")) {
    const password = decodeURIComponent(url.password);
    url.password = "";
    return { url: url.href, password };
  }
  throw new DeployError(
    "SUPABASE_DB_URL must be a connection string: postgresql://postgres.<ref>:<password>@<pooler>:5432/postgres (percent-encode the password).",
  );
}
