import { runMain } from "./command-line.ts";
import { createProgress, createSecretKeeper } from "./deploy/output.ts";
import { readDeployArguments, readDeploySettings } from "./deploy/settings.ts";
import { runDeployment } from "./deploy/run-deployment.ts";
import { createSupabaseCli } from "./deploy/supabase-cli.ts";
import { oneLine } from "../local/stack/command-line.ts";

const HELP = `npm run deploy -- --project <ref> [options]   everything Keyframe needs on a hosted Supabase project

  --project REF   the 20 letters in the project's address, https://<ref>.supabase.co
  --dry-run       print what would change, and change nothing
  --local-bundling   bundle the functions on this machine with Docker, if they are too large for Supabase to bundle
  --dashboard     also build the dashboard for that project, as static files

  KEYFRAME_REPLICATE_API_TOKEN     from https://replicate.com/account/api-tokens; later runs without it keep the project's
  SUPABASE_ACCESS_TOKEN   instead of \`npx supabase login\`
  SUPABASE_DB_URL         the database's connection string, only where the CLI cannot reach it
  KEYFRAME_CLIENT_URL     a custom domain, if apps use one

Run it again at any time: it changes only what differs. See docs/deploy.md.`;

const keeper = createSecretKeeper();
const clock = {
  now: Date.now,
  sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
  timeout: (ms: number) => AbortSignal.timeout(ms),
};

async function main(): Promise<number> {
  const args = readDeployArguments(Deno.args);
  if (args.help) {
    console.log(HELP);
    return 0;
  }
  const environment = Deno.env.toObject();
  const settings = readDeploySettings(args, environment);
  for (const secret of [
    settings.replicate.token,
    settings.optional.KEYFRAME_JWT_SECRET,
    settings.database?.password,
    environment.SUPABASE_ACCESS_TOKEN,
  ]) {
    keeper.add(secret);
  }
  const print = (line: string) => console.log(keeper.hide(line));
  const progress = createProgress(print);
  const cli = createSupabaseCli(settings.project, environment, progress);
  print(
    settings.dryRun ? `Plan for ${settings.project}; nothing is changed:\n` : `Deploying to ${settings.project}:\n`,
  );
  const found = { secretDigests: new Map<string, string>() };
  await runDeployment({ settings, cli, fetch, clock, progress, keeper, found }, print);
  print(
    settings.dryRun ? "\nWithout --dry-run this is done." : `\nKeyframe runs at ${settings.clientUrl}/functions/v1/api`,
  );
  return 0;
}

runMain(main, { describe: (error) => `\n${keeper.hide(oneLine(error))}` });
