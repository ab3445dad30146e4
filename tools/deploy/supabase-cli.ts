import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { DeployError } from "./deploy-error.ts";
import { explainCliFailure } from "./explain-cli-failure.ts";
import type { Progress } from "./progress.ts";
import { type Ended, runCommand } from "./run-command.ts";

/** A database by its connection string instead of by its project. */
export type Database = { url: string; password: string };

type Options = {
  input?: string;
  /** Where it works instead of on the project. */
  at?: Database;
  limitMs?: number;
  /** A folder with another `supabase` folder in it. */
  root?: string;
};

/** The Supabase CLI, bound to one project. Every method throws a DeployError that says what to do. */
export type SupabaseCli = {
  /** Runs a command, `doing` in a few words for what is said meanwhile and when it fails; answers what it printed on stdout. */
  run(doing: string, args: string[], options?: Options): Promise<string>;
  /** Runs SQL in the project's database and answers the rows of the last statement. Secrets may stand in it. */
  query<T extends z.ZodType>(
    doing: string,
    sql: string,
    row: T,
    mode: "read" | "write",
    options?: Options,
  ): Promise<z.infer<T>[]>;
};

/** @param root the checkout whose `supabase` folder it works on */
export function createSupabaseCli(
  project: string,
  environment: Record<string, string>,
  progress: Progress,
  root = PROJECT_ROOT,
): SupabaseCli {
  const quiet = { SUPABASE_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1" };
  const run: SupabaseCli["run"] = async (doing, args, { at, root: cwd = root, ...options } = {}) => {
    // The password by its environment: everybody on the machine can read a command line.
    const env = at === undefined || at.password === "" ? quiet : { ...quiet, PGPASSWORD: at.password };
    const command = runCommand(
      findProgram(),
      [...args, `--remote=${at?.url ?? project}`, "--output-format=json", "--agent=no"],
      { cwd, environment, env, ...options },
    );
    const ended = await progress.during(doing, command);
    if (ended.isTooLate) {
      throw new DeployError(
        `Failed while ${doing}: the Supabase CLI got no answer and was ended. Look at your network and at https://status.supabase.com, and run the command again.`,
      );
    }
    if (ended.code !== 0) throw new DeployError(explainCliFailure(doing, project, ended));
    refuseWarnings(doing, ended);
    return ended.stdout;
  };
  return {
    run,
    query: async (doing, sql, row, mode, options) => {
      const args = mode === "read" ? ["db", "query", "--read-only"] : ["db", "query", "--yes"];
      const printed = await run(doing, args, { ...options, input: sql });
      const rows = z.array(row).safeParse(parseJson(printed));
      if (rows.success) return rows.data;
      // Not what it printed: that may hold what was asked for.
      throw new DeployError(`The Supabase CLI answered something unknown while ${doing}. Is it the one of \`npm ci\`?`);
    },
  };
}

/** The program itself: started by the script in node_modules/.bin, it reads nothing from `--env-file=/dev/stdin`. */
function findProgram(): string {
  const system = `${Deno.build.os}-${Deno.build.arch === "aarch64" ? "arm64" : "x64"}`;
  const pathOf = (name: string) => join(PROJECT_ROOT, "node_modules/@supabase", `cli-${name}`, "bin/supabase");
  return [system, `${system}-musl`].map(pathOf).find((path) => existsSync(path)) ?? pathOf(system);
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
