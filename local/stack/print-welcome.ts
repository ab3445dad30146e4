import type { Stack, StackOptions } from "./stack-types.ts";

/** Says where everything is, whom to sign in as, and a command that works when pasted. */
export function printWelcome(stack: Stack, options: StackOptions, tookMs: number): void {
  const { url, keys, demoUser, extensions } = stack;
  const standIns = (["pg_net", "pg_cron", "supabase_vault"] as const).filter((name) => extensions[name] === "stand-in");
  const notes = extensions.notes.map((note) => `\n                    ${note}`).join("");
  const elsewhere = options.provider?.variables.KEYFRAME_REPLICATE_API_BASE_URL;
  const provider = stack.simulator
    ? `simulator, ${stack.simulator.url}`
    : `Replicate${elsewhere === undefined ? "" : ` at ${elsewhere}`} (it costs money)`;
  console.log(`
Keyframe is ready after ${(tookMs / 1000).toFixed(1)} s.

  Dashboard         ${url}
  API               ${url}/functions/v1/api
  Supabase URL      ${url}
  Publishable key   ${keys.publishableKey}
  Studio            ${url}/studio
  Docs              ${url}/docs
  Mail              ${url}/mail   what Auth sends: links for a new password
  Database          ${options.databaseUrl === undefined ? stack.databaseUrl : withoutPassword(options.databaseUrl)}
  Provider          ${provider}
  Stand-ins         ${standIns.length > 0 ? standIns.join(", ") : "none"}${notes}
  Data, keys, logs  ${options.dataDir}
  Demo user         ${demoUser.email} / ${demoUser.password}

Create a project as the demo user (paste this into another terminal):

  TOKEN=$(curl -s '${url}/auth/v1/token?grant_type=password' \\
    -H 'apikey: ${keys.publishableKey}' -H 'Content-Type: application/json' \\
    -d '{"email":"${demoUser.email}","password":"${demoUser.password}"}' | sed 's/.*"access_token": *"\\([^"]*\\)".*/\\1/')
  curl -s ${url}/functions/v1/api/projects -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"title":"Harbour","textPrompt":"A harbour at dawn, fog, one red boat","description":""}'

Or see all three steps at once: npm run demo. Ctrl-C ends everything; the data stay.`);
}

/** A given address keeps its password to itself; the embedded server's is shown, since it is made here and nowhere else. */
function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  if (url.password !== "") url.password = "…";
  url.search = "";
  return decodeURI(url.href);
}
