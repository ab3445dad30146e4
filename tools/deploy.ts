import { BUDGET_HELP } from "./budgets.ts";
import { STAGES } from "./deploy/stages.ts";
import { readDeployArguments, readDeploySettings } from "./deploy/settings.ts";
import { createSecretKeeper } from "./deploy/reporting.ts";
import { runStages } from "./deploy/stage.ts";
import { createSupabaseCli } from "./deploy/supabase-cli.ts";
import { oneLine, runMain, stopSignals } from "../command-line/run-main.ts";
import { PROJECT_ROOT } from "../local/stack/project-root.ts";
import { pause } from "../shared/platform/retry.ts";

const HELP = `npm run deploy -- --project <ref> [options]   deploys everything Keyframe needs to a hosted Supabase project

  --project REF   the 20 letters in the project's address, https://<ref>.supabase.co
  --dry-run       print what would change, and change nothing
  --moved         the database was restored or copied from another project: it works for this project from now on (docs/upgrade.md)
  --without-mcp   leave out keyframe-mcp, which lets agents use the API (docs/agents.md)
  ${BUDGET_HELP}

  KEYFRAME_REPLICATE_API_TOKEN     from https://replicate.com/account/api-tokens; later runs without it keep the project's token
  SUPABASE_ACCESS_TOKEN   instead of \`npx supabase login\`
  SUPABASE_DB_URL         the database's connection string, only if the CLI cannot reach it
  KEYFRAME_CLIENT_URL     a custom domain, if apps use one

Run it again at any time: it changes only what differs. See docs/deploy.md.`;

const keeper = createSecretKeeper();

async function main(): Promise<number> {
  const environment = Deno.env.toObject();
  const settings = readDeploySettings(readDeployArguments(Deno.args), environment);
  for (const secret of [
    settings.replicate.token,
    settings.optional.KEYFRAME_JWT_SECRET,
    settings.database?.password,
    environment.SUPABASE_ACCESS_TOKEN,
  ]) {
    keeper.add(secret);
  }
  const stop = stopSignals();
  const clock = {
    now: Date.now,
    sleep: async (ms: number) => {
      await pause(ms, stop);
      stop.throwIfAborted();
    },
    timeout: (ms: number) => AbortSignal.any([AbortSignal.timeout(ms), stop]),
  };
  const print = (line: string) => console.log(keeper.hide(line));
  const { project, dryRun, clientUrl } = settings;
  const cli = createSupabaseCli(project, environment, PROJECT_ROOT, stop);
  print(dryRun ? `Plan for ${project}; nothing is changed:\n` : `Deploying to ${project}:\n`);
  const ask = Deno.stdin.isTerminal() ? prompt : undefined;
  const found = { secretDigests: new Map<string, string>() };
  await runStages(STAGES, { settings, cli, fetch, clock, ask, keeper, stop, found }, print);
  print(
    dryRun
      ? "\nNothing was changed. Run without --dry-run to deploy."
      : `\nKeyframe runs at ${clientUrl}/functions/v1/api`,
  );
  if (!dryRun)
    print("If the functions' limits are too low, run the workers as processes: npm run worker (docs/workers.md)");
  return 0;
}

runMain(HELP, main, { describe: (error) => `\n${keeper.hide(oneLine(error))}` });
