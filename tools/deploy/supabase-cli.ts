import { z } from "zod";
import { jsonText } from "../../shared/platform/json-text.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { type Ended, runSupabaseCli } from "../../local/stack/supabase-cli.ts";
import { DeployError } from "./reporting.ts";

/** A database by its connection string. */
export type Database = { url: string; password: string };

type Options = {
  input?: string;
  /** The database to work on instead of the project's. */
  at?: Database;
  limitMs?: number;
  /** A folder with another `supabase` folder in it. */
  root?: string;
};

/** The Supabase CLI for one project. Every method throws a DeployError that says what to do. */
export type SupabaseCli = {
  /** Runs a command and returns its standard output. `doing` names it in errors. */
  run(doing: string, args: string[], options?: Options): Promise<string>;
  /** Runs a command that prints JSON of this form. */
  read<T extends z.ZodType>(doing: string, args: string[], form: T, options?: Options): Promise<z.infer<T>>;
  /** Runs SQL in the project's database and returns the rows of the last statement. The SQL may hold secrets. */
  query<T extends z.ZodType>(
    doing: string,
    sql: string,
    row: T,
    mode: "read" | "write",
    options?: Options,
  ): Promise<z.infer<T>[]>;
};

/** A limit is needed, because the CLI itself waits for ever. */
const LIMIT_MS = 2 * 60_000;
/** Enough time for a migration that waits for a lock, and for an upload over a slow line. */
export const LONG_LIMIT_MS = 30 * 60_000;

/**
 * @param root the checkout whose `supabase` folder it works on
 * @param stop ends the command under way
 */
export function createSupabaseCli(
  project: string,
  environment: Record<string, string>,
  root = PROJECT_ROOT,
  stop?: AbortSignal,
): SupabaseCli {
  const run: SupabaseCli["run"] = async (doing, args, { at, root: cwd = root, ...options } = {}) => {
    const target = [`--remote=${at?.url ?? project}`, "--output-format=json", "--agent=no"];
    const ended = await runSupabaseCli([...args, ...target], {
      cwd,
      environment,
      limitMs: LIMIT_MS,
      // The password goes into the environment: anyone on the machine can read a command line.
      ...(at?.password && { env: { PGPASSWORD: at.password } }),
      ...(stop && { stop }),
      ...options,
    });
    if (ended.isTooLate) {
      throw new DeployError(
        `Failed while ${doing}: the Supabase CLI got no answer and was stopped. Check your network and https://status.supabase.com, then run the command again.`,
      );
    }
    if (ended.code !== 0) throw new DeployError(explainCliFailure(doing, ended));
    // The CLI leaves out a file that it cannot find, warns, and exits with 0: the deployment would be incomplete.
    const warnings = `${ended.stdout}\n${ended.stderr}`.match(/^\s*WARN(ING)?:.*/gm);
    if (warnings) {
      throw new DeployError(
        `The Supabase CLI warned while ${doing}: ${warnings.map((line) => line.trim()).join(" ")} Correct what it warns about, then deploy again.`,
      );
    }
    return ended.stdout;
  };
  const read: SupabaseCli["read"] = async (doing, args, form, options) => {
    const printed = jsonText.pipe(form).safeParse(await run(doing, args, options));
    if (printed.success) return printed.data;
    // The output is left out, because it may hold secrets.
    throw new DeployError(
      `The Supabase CLI gave an unexpected answer while ${doing}. Is it the version that \`npm ci\` installs?`,
    );
  };
  return {
    run,
    read,
    query: (doing, sql, row, mode, options) => {
      const args = mode === "read" ? ["db", "query", "--read-only"] : ["db", "query", "--yes"];
      return read(doing, args, z.array(row), { ...options, input: sql });
    },
  };
}

const LONGEST = 500;

/** The CLI's output → what to do. The first match counts. */
const REMEDIES: [pattern: RegExp, remedy: string][] = [
  [
    /access token not provided|AccessTokenRequired|access token format|access token is invalid|status 401|Unauthorized/i,
    "Run `npx supabase login`, or set SUPABASE_ACCESS_TOKEN to a token of https://supabase.com/dashboard/account/tokens: it starts with sbp_.",
  ],
  [
    /status 403|Forbidden|necessary privileges|Access denied/i,
    "This account is not allowed to do that in this project: sign in as an owner or administrator of its organization.",
  ],
  [
    /status 404|Project not found/i,
    "This account has no such project. Compare the ref with `npx supabase projects list`, and check which account you signed in with.",
  ],
  [
    /extension "[^"]+" is not available|could not open extension control file/i,
    "Enable that extension (the project's page → Database → Extensions), and run the command again.",
  ],
  [
    /maximum deployment size|bundle too large|status 413/i,
    "A function is too large for Supabase to bundle: docs/deploy.md says how to bundle it on this machine.",
  ],
  [
    /status 429|rate limit|too many requests|status 5\d\d|TransportError|error setting project secrets/i,
    "Supabase is rate-limiting, down (https://status.supabase.com) or out of reach (behind a proxy, set HTTPS_PROXY). Run the command again in a minute.",
  ],
  [
    /inserted before the last migration|not found in local migrations/i,
    "This checkout and the database disagree about migrations: docs/upgrade.md says what to do.",
  ],
  [
    /IPv6 is not supported|failed to connect|ECONNREFUSED|ENOTFOUND|ETIMEDOUT|password authentication failed/i,
    "Set SUPABASE_DB_URL to the session pooler's connection string (the project's page → Connect) with the database's password, and run the command again.",
  ],
];

/** One paragraph about a failed command: what it did, what it printed, what to do. */
export function explainCliFailure(doing: string, { stdout, stderr }: Pick<Ended, "stdout" | "stderr">): string {
  const said = whatItSaid(stdout, stderr);
  const remedy =
    REMEDIES.find(([pattern]) => pattern.test(said))?.[1] ??
    "Fix the cause, then run the command again: finished stages are kept.";
  return `Failed while ${doing}. The Supabase CLI said: ${said}${/[.!?]$/.test(said) ? "" : "."} ${remedy}`;
}

/** The message of the CLI's JSON, after the output about the failed migration; without a message, the last lines. */
function whatItSaid(stdout: string, stderr: string): string {
  const error = stdout.slice(Math.max(stdout.indexOf('"error"'), 0));
  const [, quoted] = /"message":("(?:[^"\\]|\\.)*")\s*[,}]/.exec(error) ?? [];
  const lines = stderr
    .split("\n")
    .filter((line) => line.trim() !== "" && !/^(Target|Confirmed by|Try rerunning)/.test(line));
  const began = lines.findLastIndex((line) => line.startsWith("Applying migration"));
  const context = began >= 0 ? lines.slice(began) : quoted === undefined ? lines.slice(-8) : [];
  const said = [...context, quoted === undefined ? "" : String(jsonText.safeParse(quoted).data ?? quoted)].join(" ");
  return said.replace(/\s+/g, " ").trim().slice(0, LONGEST) || "nothing";
}
