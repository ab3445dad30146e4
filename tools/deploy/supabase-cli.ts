import { z } from "zod";
import { jsonText } from "../../shared/platform/environment.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { type Ended, runSupabaseCli } from "../../local/stack/supabase-cli.ts";
import { DeployError, type Progress } from "./reporting.ts";

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
  /** Runs a command and returns its standard output. `doing` names it in progress lines and errors. */
  run(doing: string, args: string[], options?: Options): Promise<string>;
  /** The same for a command that prints JSON of this form. */
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

/**
 * @param root the checkout whose `supabase` folder it works on
 * @param stop ends the command under way
 */
export function createSupabaseCli(
  project: string,
  environment: Record<string, string>,
  progress: Progress,
  root = PROJECT_ROOT,
  stop?: AbortSignal,
): SupabaseCli {
  const run: SupabaseCli["run"] = async (doing, args, { at, root: cwd = root, ...options } = {}) => {
    const command = runSupabaseCli([...args, `--remote=${at?.url ?? project}`, "--output-format=json", "--agent=no"], {
      cwd,
      environment,
      limitMs: LIMIT_MS,
      // The password goes into the environment: everybody can read a command line.
      ...(at?.password && { env: { PGPASSWORD: at.password } }),
      ...(stop && { stop }),
      ...options,
    });
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
  const read: SupabaseCli["read"] = async (doing, args, form, options) => {
    const printed = jsonText.pipe(form).safeParse(await run(doing, args, options));
    if (printed.success) return printed.data;
    // The output is left out, because it may hold secrets.
    throw new DeployError(`The Supabase CLI answered something unknown while ${doing}. Is it the one of \`npm ci\`?`);
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

/** The default limit. The CLI itself waits without one. */
const LIMIT_MS = 120_000;

/** The CLI leaves out a file that it cannot find, warns, and exits with 0: the deployment would be incomplete. */
function refuseWarnings(doing: string, { stdout, stderr }: Ended): void {
  const warnings = `${stdout}\n${stderr}`.split("\n").filter((line) => /^\s*WARN(ING)?:/.test(line));
  if (warnings.length === 0) return;
  const said = warnings.map((line) => line.trim()).join(" ");
  throw new DeployError(
    `The Supabase CLI warned while ${doing}: ${said} Correct what it warns about, then deploy again.`,
  );
}

const LONGEST = 500;

/** What the CLI printed → what to do. The first match counts. */
const REMEDIES: [pattern: RegExp, remedy: (project: string) => string][] = [
  [
    /Access token not provided|AccessTokenRequired/i,
    () =>
      "Run `npx supabase login`, or set SUPABASE_ACCESS_TOKEN (made at https://supabase.com/dashboard/account/tokens).",
  ],
  [
    /Invalid access token format/i,
    () =>
      "SUPABASE_ACCESS_TOKEN is no access token: it starts with sbp_ and is made at https://supabase.com/dashboard/account/tokens.",
  ],
  [
    /status 401|\b401\b.*unauthorized|Unauthorized|access token is invalid/i,
    () =>
      "The access token was refused, perhaps it expired: run `npx supabase login` again, or set a new SUPABASE_ACCESS_TOKEN.",
  ],
  [
    /status 403|Forbidden|necessary privileges|Access denied/i,
    (project) =>
      `This account may not do that with the project ${project}: sign in as an owner or administrator of its organization.`,
  ],
  [
    /status 404|Project not found/i,
    (project) =>
      `There is no project ${project} that this account can see: compare the ref with \`npx supabase projects list\`, and the account with the one you signed in as.`,
  ],
  [
    /maximum deployment size|bundle too large|status 413/i,
    () => "A function is too large for Supabase to bundle: docs/deploy.md says how to bundle it on this machine.",
  ],
  [/status 429|rate limit|too many requests/i, () => "Supabase limits requests: try again in a minute."],
  [/status 5\d\d/i, () => "Supabase has trouble: look at https://status.supabase.com and run the command again."],
  [
    /error setting project secrets/i,
    (project) =>
      `The CLI does not say why. Run the command again in a minute, in case Supabase limits requests or has trouble (https://status.supabase.com). If it fails again, sign in as an owner or administrator of the organization of ${project}.`,
  ],
  [
    /inserted before the last migration|not found in local migrations/i,
    () => "This checkout and the database disagree about migrations: docs/upgrade.md says what to do.",
  ],
  [
    /TransportError/i,
    () =>
      "Supabase's API could not be reached: look at your network (behind a proxy, set HTTPS_PROXY) and run the command again.",
  ],
  [
    /IPv6 is not supported|failed to connect|ECONNREFUSED|ENOTFOUND|ETIMEDOUT|password authentication failed/i,
    () =>
      "Set SUPABASE_DB_URL to the session pooler's connection string (the project's page → Connect) with the database's password, and run the command again.",
  ],
];

/** One paragraph about a failed command: what it did, what it printed, what to do. */
export function explainCliFailure(
  doing: string,
  project: string,
  { stdout, stderr }: Pick<Ended, "stdout" | "stderr">,
): string {
  const said = whatItSaid(stdout, stderr);
  const remedy = REMEDIES.find(([pattern]) => pattern.test(said))?.[1](project);
  return `Failed while ${doing}. The Supabase CLI said: ${said}${/[.!?]$/.test(said) ? "" : "."} ${remedy ?? "Correct the cause, then run the command again: finished stages stay."}`;
}

function whatItSaid(stdout: string, stderr: string): string {
  const message = /"message":"((?:[^"\\]|\\.)*)"\s*[,}]/.exec(
    stdout.slice(Math.max(stdout.indexOf('"error"'), 0)),
  )?.[1];
  const lines = stderr
    .split("\n")
    .filter((line) => line.trim() !== "" && !/^(Target|Confirmed by|Try rerunning)/.test(line));
  const began = lines.findLastIndex((line) => line.startsWith("Applying migration"));
  const context = began === -1 ? [] : lines.slice(began);
  const said =
    message === undefined
      ? context.length > 0
        ? context
        : lines.slice(-8)
      : [...context, String(jsonText.safeParse(`"${message}"`).data ?? message)];
  const line = said.join(" ").replace(/\s+/g, " ").trim();
  return line === "" ? "nothing" : line.slice(0, LONGEST);
}
