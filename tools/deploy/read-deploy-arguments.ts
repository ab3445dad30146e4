import { parseArgs } from "node:util";
import { DeployError } from "./deploy-error.ts";

export type DeployArguments = { help: true } | { help: false; project: string; dryRun: boolean; dashboard: boolean };

/** What the command line says. Throws one line that names what is wrong. */
export function readDeployArguments(args: string[]): DeployArguments {
  const { project, help, "dry-run": dryRun, dashboard } = parse(args);
  if (help) return { help };
  if (project === undefined) throw new DeployError("Say which project: npm run deploy -- --project <ref>");
  if (!/^[a-z]{20}$/.test(project)) {
    throw new DeployError(
      "--project takes the project's ref: the 20 small letters in its address, https://<ref>.supabase.co.",
    );
  }
  return { help, project, dryRun, dashboard };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        project: { type: "string" },
        "dry-run": { type: "boolean", default: false },
        dashboard: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    const [said] = (error instanceof Error ? error.message : String(error)).split(/\. |\n/);
    throw new DeployError(`${said}: --help lists what there is.`);
  }
}
