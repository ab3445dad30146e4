import { DeployError } from "./deploy-error.ts";
import type { DeployArguments } from "./read-deploy-arguments.ts";

/** Variables of the functions that are passed on when they are set here; see docs/deploy.md. */
export const OPTIONAL_SECRETS = [
  "KEYFRAME_CLIENT_URL",
  "KEYFRAME_JWT_SECRET",
  "KEYFRAME_PUBLIC_URL",
  "REPLICATE_API_BASE_URL",
  "REPLICATE_OUTPUT_HOSTS",
] as const;

export type DeploySettings = {
  project: string;
  dryRun: boolean;
  dashboard: boolean;
  /** Where the platform serves the project; functions are kicked there. */
  projectUrl: string;
  /** Where apps reach it: a custom domain, or the same. */
  clientUrl: string;
  replicate: { token: string | undefined; baseUrl: string };
  /** A connection string for the migrations, where the CLI cannot reach the database by itself. */
  databaseUrl: string | undefined;
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
    if (value === undefined) continue;
    if (name.endsWith("_URL") && !isWebUrl(value)) {
      throw new DeployError(`${name} must be an address such as https://api.example.com, without a slash at its end.`);
    }
    optional[name] = value;
  }
  const databaseUrl = get("SUPABASE_DB_URL");
  if (databaseUrl !== undefined && !/^postgres(ql)?:$/.test(URL.parse(databaseUrl)?.protocol ?? "")) {
    throw new DeployError(
      "SUPABASE_DB_URL must be a connection string: postgresql://postgres.<ref>:<password>@<pooler>:5432/postgres (percent-encode the password).",
    );
  }
  const projectUrl = `https://${project}.supabase.co`;
  return {
    project,
    dryRun,
    dashboard,
    projectUrl,
    clientUrl: optional.KEYFRAME_CLIENT_URL ?? projectUrl,
    replicate: {
      token: get("REPLICATE_API_TOKEN"),
      baseUrl: optional.REPLICATE_API_BASE_URL ?? "https://api.replicate.com/v1",
    },
    databaseUrl,
    optional,
  };
}

const isWebUrl = (value: string) => /^https?:$/.test(URL.parse(value)?.protocol ?? "") && !value.endsWith("/");
