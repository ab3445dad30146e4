import { DeployError } from "./deploy-error.ts";
import type { Database } from "./supabase-cli.ts";

export type GivenDatabase = Database & {
  /** Whether the address itself says that it is the project's. Otherwise the database is asked. */
  isNamed: boolean;
};

/** Reads SUPABASE_DB_URL. Throws one line without its value: when it is none, or of another project. */
export function readDatabaseUrl(text: string, project: string): GivenDatabase {
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
  // A parameter may lead elsewhere than the address says.
  return { url: url.href, password, isNamed: named === project && url.search === "" };
}

/** db.<ref>.supabase.co, or postgres.<ref> at a pooler. */
function projectOf({ hostname, username }: URL): string | undefined {
  const host = hostname.toLowerCase();
  const direct = /^db\.([a-z]{20})\.supabase\.co$/.exec(host);
  const pooled = host.endsWith(".pooler.supabase.com") ? /\.([a-z]{20})$/.exec(decodeURIComponent(username)) : null;
  return (direct ?? pooled)?.[1];
}
