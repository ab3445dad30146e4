import { createProgress } from "./deploy/progress.ts";
import { createSecretKeeper } from "./deploy/secret-keeper.ts";
import { readDeployArguments } from "./deploy/read-deploy-arguments.ts";
import { readDeploySettings } from "./deploy/read-deploy-settings.ts";
import { runDeployment } from "./deploy/run-deployment.ts";
import { createSupabaseCli } from "./deploy/supabase-cli.ts";
import { oneLine } from "../local/stack/command-line.ts";

const HELP = `npm run deploy -- --project <ref> [options]   everything Keyframe needs on a hosted Supabase project

  --project REF   the 20 letters in the project's address, https://<ref>.supabase.co
  --dry-run       say what would change, and change nothing
  --dashboard     also build the dashboard for that project, as static files

  KEYFRAME_REPLICATE_API_TOKEN     from https://replicate.com/account/api-tokens; later runs without it keep the project's
  SUPABASE_ACCESS_TOKEN   instead of \`npx supabase login\`
  SUPABASE_DB_URL         the database's connection string, only where the CLI cannot reach it by itself
  KEYFRAME_CLIENT_URL     a custom domain, if apps use one

It may be run again at any time: what is as it should be is left alone. docs/deploy.md tells more.`;

const keeper = createSecretKeeper();
const clock = {
  now: Date.now,
  sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
  timeout: (ms: number) => AbortSignal.timeout(ms),
};

async function main(): Promise<void> {
  const args = readDeployArguments(Deno.args);
  if (args.help) return console.log(HELP);
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
}

main().then(
  () => Deno.exit(0),
  (error: unknown) => {
    console.error(`\n${keeper.hide(oneLine(error))}`);
    Deno.exit(1);
  },
);
