import type { Stack } from "./stack-types.ts";

/** Says where everything is, whom to sign in as, and a command that works when pasted. */
export function printWelcome(stack: Stack, tookMs: number): void {
  const { url, keys, demoUser, extensions } = stack;
  const standIns = (["pg_net", "pg_cron", "supabase_vault"] as const).filter((name) => extensions[name] === "stand-in");
  console.log(`
Keyframe is ready after ${(tookMs / 1000).toFixed(1)} s.

  API               ${url}/functions/v1/api
  Supabase URL      ${url}
  Publishable key   ${keys.publishableKey}
  Studio            ${url}/studio
  Database          ${stack.databaseUrl}
  Provider          ${stack.simulator ? `simulator, ${stack.simulator.url}` : "Replicate (it costs money)"}
  Stand-ins         ${standIns.length > 0 ? standIns.join(", ") : "none"}
  Demo user         ${demoUser.email} / ${demoUser.password}

Create a project as the demo user (paste this into another terminal):

  TOKEN=$(curl -s '${url}/auth/v1/token?grant_type=password' \\
    -H 'apikey: ${keys.publishableKey}' -H 'Content-Type: application/json' \\
    -d '{"email":"${demoUser.email}","password":"${demoUser.password}"}' | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
  curl -s ${url}/functions/v1/api/projects -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"title":"Harbour","textPrompt":"A harbour at dawn, fog, one red boat","description":""}'

Or see all three steps at once: npm run demo. Ctrl-C ends everything; the data stay.`);
}
