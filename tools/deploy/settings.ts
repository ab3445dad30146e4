import type { z } from "zod";
import { parseOptions } from "../../local/stack/command-line.ts";
import { functionEnvironments } from "../../shared/platform/environment.ts";
import { BUDGET_OPTIONS, type Budgets, readBudgets } from "../budgets.ts";
import { DeployError } from "./reporting.ts";
import type { Database } from "./supabase-cli.ts";

type DeployArguments = { project: string; dryRun: boolean; budgets: Budgets };

/** Reads the command line. Throws one line that names what is wrong. */
export function readDeployArguments(args: string[]): DeployArguments {
  const {
    project,
    "dry-run": dryRun,
    ...given
  } = parseOptions({
    args,
    options: {
      project: { type: "string" },
      "dry-run": { type: "boolean", default: false },
      ...BUDGET_OPTIONS,
    },
  }).values;
  if (project === undefined) throw new DeployError("Say which project: npm run deploy -- --project <ref>");
  if (!/^[a-z]{20}$/.test(project)) {
    throw new DeployError(
      "--project takes the project's ref: the 20 small letters in its address, https://<ref>.supabase.co.",
    );
  }
  return { project, dryRun, budgets: readBudgets(given) };
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

export type DeploySettings = {
  project: string;
  dryRun: boolean;
  budgets: Budgets;
  /** The project's URL on the platform; kicks go there. */
  projectUrl: string;
  /** The URL for apps: a custom domain, or the same. */
  clientUrl: string;
  replicate: { token: string | undefined; baseUrl: string };
  /** Where the migrations go when the CLI cannot reach the database itself. */
  database: GivenDatabase | undefined;
  optional: Record<string, string>;
};

/** Reads the environment. Throws one line that names a wrong variable, never its value. */
export function readDeploySettings(
  { project, dryRun, budgets }: DeployArguments,
  environment: Record<string, string>,
): DeploySettings {
  const get = (name: string) => environment[name]?.trim() || undefined;
  const optional: Record<string, string> = {};
  for (const name of OPTIONAL_SECRETS) {
    const value = get(name);
    if (value !== undefined) optional[name] = checkVariable(name, value);
  }
  const token = get("KEYFRAME_REPLICATE_API_TOKEN");
  const databaseUrl = get("SUPABASE_DB_URL");
  const projectUrl = `https://${project}.supabase.co`;
  return {
    project,
    dryRun,
    budgets,
    projectUrl,
    clientUrl: optional.KEYFRAME_CLIENT_URL ?? projectUrl,
    replicate: {
      token: token && checkVariable("KEYFRAME_REPLICATE_API_TOKEN", token),
      baseUrl: optional.KEYFRAME_REPLICATE_API_BASE_URL ?? "https://api.replicate.com/v1",
    },
    database: databaseUrl === undefined ? undefined : readDatabaseUrl(databaseUrl, project),
    optional,
  };
}

/** The value as the functions read it, where that is text: a URL loses the slash at its end. */
function checkVariable(name: string, value: string): string {
  if (/['\r\n]/.test(value)) throw new DeployError(`${name} may hold neither ' nor a line break.`);
  let read = value;
  for (const schema of SHAPES.flatMap((shape) => shape[name] ?? [])) {
    const parsed = schema.safeParse(value);
    if (!parsed.success) throw new DeployError(`${name} is wrong: it ${parsed.error.issues[0]?.message}.`);
    if (typeof parsed.data === "string") read = parsed.data;
  }
  return read;
}

type GivenDatabase = Database & {
  /** Whether the URL itself names the project. Otherwise the database is asked. */
  isNamed: boolean;
};

/** Reads SUPABASE_DB_URL. Throws one line without its value when it is invalid or another project's. */
function readDatabaseUrl(text: string, project: string): GivenDatabase {
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol) || /%(?![0-9a-f]{2})/i.test(text)) {
    throw new DeployError(
      "SUPABASE_DB_URL must be a connection string: postgresql://postgres.<ref>:<password>@<pooler>:5432/postgres (percent-encode the password).",
    );
  }
  if (url.searchParams.has("password")) {
    throw new DeployError("SUPABASE_DB_URL holds its password as a parameter: put it behind the user's name.");
  }
  const named = projectOf(url);
  if (named !== undefined && named !== project) {
    throw new DeployError(
      `SUPABASE_DB_URL is of the project ${named}, and --project says ${project}: its migrations would go there. Take the connection string from the page of ${project} (Connect), or leave SUPABASE_DB_URL out.`,
    );
  }
  const password = decodeURIComponent(url.password);
  url.password = "";
  // A parameter may change the host.
  return { url: url.href, password, isNamed: named === project && url.search === "" };
}

/** From db.<ref>.supabase.co, or postgres.<ref> at a pooler. */
function projectOf({ hostname, username }: URL): string | undefined {
  const host = hostname.toLowerCase();
  const direct = /^db\.([a-z]{20})\.supabase\.co$/.exec(host);
  const pooled = host.endsWith(".pooler.supabase.com") ? /\.([a-z]{20})$/.exec(decodeURIComponent(username)) : null;
  return (direct ?? pooled)?.[1];
}
