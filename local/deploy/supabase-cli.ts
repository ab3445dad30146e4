import { join } from "node:path";
import { z } from "zod";
import { PROJECT_ROOT } from "../stack/project-root.ts";
import { DeployError } from "./deploy-error.ts";
import { explainCliFailure } from "./explain-cli-failure.ts";
import { type Ended, runCommand } from "./run-command.ts";

/** The Supabase CLI, bound to one project. Every method throws a DeployError that says what to do. */
export type SupabaseCli = {
  /** Runs a command, `doing` in a few words for what is said when it fails; answers what it printed on stdout. */
  run(doing: string, args: string[], more?: { input?: string; env?: Record<string, string> }): Promise<string>;
  /** Runs SQL in the project's database and answers the rows of the last statement. Secrets may stand in it. */
  query<T extends z.ZodType>(doing: string, sql: string, row: T, mode: "read" | "write"): Promise<z.infer<T>[]>;
};

/** @param root the checkout whose `supabase` folder it works on */
export function createSupabaseCli(
  project: string,
  environment: Record<string, string>,
  root = PROJECT_ROOT,
): SupabaseCli {
  const program = join(PROJECT_ROOT, "node_modules/.bin/supabase");
  const quiet = { SUPABASE_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1" };
  const run: SupabaseCli["run"] = async (doing, args, { input, env } = {}) => {
    const target = args.some((argument) => argument.startsWith("--remote=")) ? [] : [`--remote=${project}`];
    const ended = await runCommand(program, [...args, ...target, "--output-format=json", "--agent=no"], {
      cwd: root,
      environment,
      env: { ...quiet, ...env },
      ...(input === undefined ? {} : { input }),
    });
    if (ended.code !== 0) throw new DeployError(explainCliFailure(doing, project, ended));
    refuseWarnings(doing, ended);
    return ended.stdout;
  };
  return {
    run,
    query: async (doing, sql, row, mode) => {
      const args = mode === "read" ? ["db", "query", "--read-only"] : ["db", "query", "--yes"];
      const printed = await run(doing, args, { input: sql });
      const rows = z.array(row).safeParse(parseJson(printed));
      if (rows.success) return rows.data;
      // Not what it printed: that may hold what was asked for.
      throw new DeployError(`The Supabase CLI answered something unknown while ${doing}. Is it the one of \`npm ci\`?`);
    },
  };
}

/** The CLI leaves out a file it cannot find, warns and exits 0: what is deployed then lacks something. */
function refuseWarnings(doing: string, { stdout, stderr }: Ended): void {
  const warnings = `${stdout}\n${stderr}`.split("\n").filter((line) => /^\s*WARN(ING)?:/.test(line));
  if (warnings.length === 0) return;
  const said = warnings.map((line) => line.trim()).join(" ");
  throw new DeployError(`The Supabase CLI warned while ${doing}: ${said} Put that right and deploy again.`);
}

/** What a command printed, or undefined when it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
