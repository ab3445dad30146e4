import type { z } from "zod";
import { apiEnvironment } from "../../supabase/functions/api/environment.ts";
import { deliverEnvironment } from "../../supabase/functions/keyframe-deliver/environment.ts";
import { generateEnvironment } from "../../supabase/functions/keyframe-generate/environment.ts";
import { webhookEnvironment } from "../../supabase/functions/keyframe-replicate-webhook/environment.ts";
import { DeployError } from "./deploy-error.ts";
import { type GivenDatabase, readDatabaseUrl } from "./read-database-url.ts";
import type { DeployArguments } from "./read-deploy-arguments.ts";

/** Variables of the functions that are passed on when they are set here; see docs/deploy.md. */
export const OPTIONAL_SECRETS = [
  "KEYFRAME_CLIENT_URL",
  "KEYFRAME_JWT_SECRET",
  "KEYFRAME_PUBLIC_URL",
  "KEYFRAME_REPLICATE_API_BASE_URL",
  "KEYFRAME_REPLICATE_OUTPUT_HOSTS",
] as const;

/** What each function demands of its variables: one that it refuses would end it at its start. */
const SHAPES: Record<string, z.ZodType>[] = [
  apiEnvironment.shape,
  generateEnvironment.shape,
  webhookEnvironment.shape,
  deliverEnvironment.shape,
];

export type DeploySettings = {
  project: string;
  dryRun: boolean;
  dashboard: boolean;
  /** Where the platform serves the project; functions are kicked there. */
  projectUrl: string;
  /** Where apps reach it: a custom domain, or the same. */
  clientUrl: string;
  replicate: { token: string | undefined; baseUrl: string };
  /** Where the migrations go, if the CLI cannot reach the database by itself. */
  database: GivenDatabase | undefined;
  optional: Record<string, string>;
};

/** What the environment says about a deployment. Throws one line that names a wrong variable, and never its value. */
export function readDeploySettings(
  { project, dryRun, dashboard }: Exclude<DeployArguments, { help: true }>,
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
    dashboard,
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

/** The value as the functions read it, where that is text: an address loses the slash at its end. */
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
