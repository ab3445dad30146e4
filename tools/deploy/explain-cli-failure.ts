import type { Ended } from "./run-command.ts";

const LONGEST = 500;

/** What the CLI said → what to do. The first that fits is taken. */
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
    /status 401|\b401\b.*unauthorized|Unauthorized/i,
    () =>
      "The access token was refused, perhaps it expired: run `npx supabase login` again, or set a new SUPABASE_ACCESS_TOKEN.",
  ],
  [
    /status 403|Forbidden|necessary privileges/i,
    (project) =>
      `This account may not do that with the project ${project}: sign in as an owner or administrator of its organization.`,
  ],
  [
    /status 404|Project not found/i,
    (project) =>
      `There is no project ${project} that this account can see: compare the ref with \`npx supabase projects list\`, and the account with the one you signed in as.`,
  ],
  [/status 429|rate limit/i, () => "Supabase asks for patience: try again in a minute."],
  [/status 5\d\d/i, () => "Supabase has trouble: look at https://status.supabase.com and run the command again."],
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

/** One paragraph for a command of the CLI that failed: what it did, what it said, what to do. */
export function explainCliFailure(
  doing: string,
  project: string,
  { stdout, stderr }: Pick<Ended, "stdout" | "stderr">,
): string {
  const said = whatItSaid(stdout, stderr);
  const remedy = REMEDIES.find(([pattern]) => pattern.test(said))?.[1](project);
  return `Failed while ${doing}. The Supabase CLI said: ${said}${/[.!?]$/.test(said) ? "" : "."} ${remedy ?? "Put that right and run the command again: what is done already stays done."}`;
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
    message === undefined ? (context.length > 0 ? context : lines.slice(-8)) : [...context, unescaped(message)];
  const line = said.join(" ").replace(/\s+/g, " ").trim();
  return line === "" ? "nothing" : line.slice(0, LONGEST);
}

function unescaped(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}
