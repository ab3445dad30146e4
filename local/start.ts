import { once } from "node:events";
import { parseOptions, runMain, stopSignals } from "../command-line/run-main.ts";
import { showStages, write } from "../command-line/show-stages.ts";
import { type Stack, startStack } from "./stack/start-stack.ts";
import { readStackOptions, STACK_OPTIONS, type StackOptions } from "./stack/stack-settings.ts";

const HELP = `npm start -- [options]   starts Keyframe on this machine

  --port N      the port for clients (default 54321; 0: any free one)
  --data DIR    the folder for data, keys and logs (default .keyframe)
  --reset       delete the data first

  KEYFRAME_DATABASE_URL          an empty Postgres 15 to 17 instead of the embedded one: a URL with a superuser
  KEYFRAME_REPLICATE_API_TOKEN   the real Replicate instead of the simulator (it costs money), by polling and its Files API;
                                 with KEYFRAME_PUBLIC_URL and KEYFRAME_REPLICATE_WEBHOOK_SECRET, by callbacks`;

async function main(): Promise<number> {
  const { reset, ...given } = parseOptions({
    args: Deno.args,
    options: { ...STACK_OPTIONS, reset: { type: "boolean", default: false } },
  }).values;
  const options = readStackOptions(given, (name) => Deno.env.get(name));
  const signal = stopSignals();
  const start = performance.now();
  const display = showStages(write, Deno.stdout.isTerminal());
  try {
    const stack = await startStack({ ...options, dashboard: true, reset, signal, ...display });
    printWelcome(stack, options, performance.now() - start);
    if (!signal.aborted) await once(signal, "abort");
    write("\nStopping …\n");
    await stack.stop();
  } catch (error) {
    display.end();
    if (!signal.aborted) throw error;
    write("Stopped.\n");
  }
  return 0;
}

/** Prints the addresses, the demo user and a command that works when pasted. */
function printWelcome(stack: Stack, options: StackOptions, tookMs: number): void {
  const { url, keys, demoUser, extensions } = stack;
  const standIns = (["pg_net", "pg_cron", "supabase_vault"] as const).filter((name) => extensions[name] === "stand-in");
  const notes = extensions.notes.map((note) => `\n                    ${note}`).join("");
  const elsewhere = options.provider?.KEYFRAME_REPLICATE_API_BASE_URL;
  const provider = stack.simulator
    ? `simulator, ${stack.simulator.url}`
    : `Replicate${elsewhere === undefined ? "" : ` at ${elsewhere}`} (it costs money)`;
  console.log(`
Keyframe is ready after ${(tookMs / 1000).toFixed(1)} s.

  Dashboard         ${url}
  API               ${url}/functions/v1/api
  Supabase URL      ${url}
  Publishable key   ${keys.publishableKey}
  OpenAPI           ${url}/functions/v1/api/openapi.json   npm run site shows the API and the guides as pages
  Mail              ${url}/mail   emails from Auth, such as password reset links
  Database          ${options.databaseUrl === undefined ? stack.migrationUrl : withoutPassword(options.databaseUrl)}   for any Postgres client; npm run sql is one
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

Or let npm run demo make a film as this user, with a link to it. Ctrl-C ends everything; the data is kept.`);
}

/** For KEYFRAME_DATABASE_URL. The embedded server's password is shown: it exists on this machine only. */
function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  if (url.password !== "") url.password = "…";
  url.search = "";
  return decodeURI(url.href);
}

runMain(HELP, main);
