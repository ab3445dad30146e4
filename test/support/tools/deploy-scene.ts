import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { z } from "zod";
import type { Budgets } from "../../../tools/budgets.ts";
import { readDeploySettings } from "../../../tools/deploy/settings.ts";
import { createSecretKeeper, DeployError } from "../../../tools/deploy/reporting.ts";
import { type Deployment, runStages, type Stage } from "../../../tools/deploy/stage.ts";
import { STAGES } from "../../../tools/deploy/stages.ts";
import { createSupabaseCli, type SupabaseCli } from "../../../tools/deploy/supabase-cli.ts";
import { runPgNetWorker } from "../../../local/extensions/pg-net-worker.ts";
import { installExtensions } from "../../../local/extensions/install-extensions.ts";
import { bootstrapPlatform } from "../../../local/platform/bootstrap-platform.ts";
import { applyMigrations, fillVault } from "../../../local/stack/apply-migrations.ts";
import { FUNCTION_NAMES } from "../../../local/stack/function-arguments.ts";
import { removePostgresData } from "../../../local/postgres/server-user.ts";
import { startPostgres } from "../../../local/postgres/start-postgres.ts";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { DeployPlatform, PROJECT, REPLICATE_TOKEN, SIGNING_SECRET } from "./deploy-platform.ts";
import { runCommand } from "./run-command.ts";

export type DeployScene = Awaited<ReturnType<typeof openDeployScene>>;

type More = Partial<Pick<Deployment, "ask" | "stop">> & {
  budgets?: Budgets;
  dryRun?: boolean;
  moved?: boolean;
  clock?: Partial<Deployment["clock"]>;
};

const PASSWORD = "of-the-database";

/** Pauses pass at once. */
function hastyClock() {
  let now = 0;
  return {
    now: () => now,
    sleep: async (ms: number) => {
      now += ms;
    },
    timeout: (ms: number) => AbortSignal.timeout(ms),
  };
}

/** Any that has the form of one. */
const ACCESS_TOKEN = `sbp_${"0123456789".repeat(4)}`;

/** The environment in which the Supabase CLI is logged in to the platform on loopback, with a home of its own. */
export async function logIn(platform: DeployPlatform, home: string): Promise<Record<string, string>> {
  const profile = join(home, "profile.yaml");
  await Deno.writeTextFile(
    profile,
    `name: loopback
api_url: ${platform.url}
dashboard_url: ${platform.url}
project_host: keyframe.invalid
`,
  );
  // With the new home Deno would compile everything again.
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { denoDir } = z.object({ denoDir: z.string() }).parse(JSON.parse(new TextDecoder().decode(stdout)));
  return {
    PATH: Deno.env.get("PATH") ?? "",
    HOME: home,
    DENO_DIR: denoDir,
    SUPABASE_PROFILE: profile,
    SUPABASE_ACCESS_TOKEN: ACCESS_TOKEN,
    PGSSLMODE: "disable",
  };
}

/** The CLI notes in the checkout which project it saw last; a made-up one must not stay there. */
export async function forgetProject(): Promise<void> {
  const path = join(PROJECT_ROOT, "supabase/.temp/linked-project.json");
  const noted = await Deno.readTextFile(path).catch(() => "");
  if (noted.includes(PROJECT)) await Deno.remove(path).catch(() => undefined);
}

/** Asks the Management API itself, as the CLI does; the other commands, and queries elsewhere, stay the CLI's. */
function withDirectQueries(cli: SupabaseCli, platform: DeployPlatform): SupabaseCli {
  return {
    ...cli,
    query: async (doing, sql, row, mode, options) => {
      if (options?.at) return await cli.query(doing, sql, row, mode, options);
      const body = JSON.stringify({ query: sql, read_only: mode === "read" });
      const answer = await fetch(`${platform.url}/v1/projects/${PROJECT}/database/query`, { method: "POST", body });
      const text = await answer.text();
      if (!answer.ok) throw new DeployError(`Failed while ${doing}: ${text}`);
      return z.array(row).parse(JSON.parse(text));
    },
  };
}

/** A hosted project nobody has deployed to yet, and the command that deploys, run as a person runs it. */
export async function openDeployScene() {
  const folder = await mkdtemp(join(tmpdir(), "keyframe-deploy-test-"));
  await Deno.chmod(folder, 0o755);
  const server = await startPostgres({ dataDir: join(folder, "data"), durable: false });
  const sql = postgres(server.url, { max: 2, onnotice: () => undefined });
  await bootstrapPlatform(sql, { postgresPassword: PASSWORD });
  await installExtensions(sql, { useReal: false });
  const databaseUrl = `postgresql://postgres:${PASSWORD}@127.0.0.1:${server.port}/postgres`;
  const platform = new DeployPlatform(databaseUrl);
  const login = await logIn(platform, folder);
  // The project's name in DNS: pg_net finds the platform on loopback.
  await sql.unsafe(`
    create function public.resolve() returns trigger language plpgsql as $$ begin
      new.url := replace(new.url, 'https://${PROJECT}.supabase.co', '${platform.url}');
      return new;
    end $$;
    create trigger resolve before insert on net.http_request_queue for each row execute function public.resolve()`);
  const stopSending = new AbortController();
  const sending = runPgNetWorker({
    databaseUrl: server.url,
    stop: stopSending.signal,
    abandon: stopSending.signal,
    onReady: () => undefined,
    log: () => undefined,
  });
  const usual = {
    ...login,
    SUPABASE_DB_URL: databaseUrl,
    KEYFRAME_REPLICATE_API_TOKEN: REPLICATE_TOKEN,
    KEYFRAME_REPLICATE_API_BASE_URL: `${platform.url}/replicate/v1`,
    KEYFRAME_CLIENT_URL: platform.url,
  };
  return {
    platform,
    /** The connection string of the project's database. */
    databaseUrl,
    /** A superuser's connection to it. */
    sql,
    /** The environment of a person who is logged in. */
    login,
    /** The command in a process of its own. A variable of "" is left out. */
    start: (args: string[] = [], environment: Record<string, string> = {}) =>
      runCommand("tools/deploy.ts", ["--project", PROJECT, ...args], { ...usual, ...environment }),
    /**
     * Takes some of the stages, or all, in this process, and returns what was printed; throws what the command would print.
     * Queries go to the platform without the CLI, which takes most of a second to start.
     */
    take: (stages?: Stage[], environment: Record<string, string> = {}, more?: More) =>
      takeStages(stages, platform, withoutEmpty({ ...usual, SUPABASE_DB_URL: "", ...environment }), more),
    stop: async () => {
      stopSending.abort();
      await sending;
      await platform.stop();
      await sql.end({ timeout: 5 });
      await server.stop();
      await forgetProject();
      await removePostgresData(join(folder, "data"));
      await rm(folder, { recursive: true });
    },
  };
}

/** What a deployment leaves, made without it: a test of a later one then fails of its own fault only. May be called again. */
export async function makeDeployed({ sql, databaseUrl, platform, login }: DeployScene): Promise<void> {
  const kick = `whsec_${btoa("the kick secret of thirty-two by")}`;
  await applyMigrations(databaseUrl, login.HOME ?? "");
  await fillVault(sql, {
    keyframe_functions_url: `https://${PROJECT}.supabase.co/functions/v1`,
    keyframe_kick_secret: kick,
  });
  platform.api.db_schema = "public,graphql_public,app,keyframe,keyframe_worker";
  platform.secrets = new Map([
    ["KEYFRAME_REPLICATE_API_TOKEN", REPLICATE_TOKEN],
    ["KEYFRAME_REPLICATE_WEBHOOK_SECRET", SIGNING_SECRET],
    ["KEYFRAME_KICK_SECRET", kick],
    ["KEYFRAME_CLIENT_URL", platform.url],
    ["KEYFRAME_REPLICATE_API_BASE_URL", `${platform.url}/replicate/v1`],
  ]);
  const row = (slug: string) =>
    platform.functions.bundled({ slug, files: [], contents: new Map(), metadata: { verify_jwt: false } });
  platform.functions.activate(FUNCTION_NAMES.map(row));
}

/** Takes some of the stages, or all, in this process. Pauses pass at once unless the clock says otherwise. */
async function takeStages(
  stages: Stage[] = STAGES,
  platform: DeployPlatform,
  environment: Record<string, string>,
  { ask, stop = new AbortController().signal, budgets, dryRun = false, moved = false, clock }: More = {},
): Promise<string> {
  const none = { user: undefined, service: undefined };
  const given = { project: PROJECT, dryRun, moved, functions: FUNCTION_NAMES, budgets: budgets ?? none };
  const keeper = createSecretKeeper();
  const printed: string[] = [];
  const deployment = {
    settings: readDeploySettings(given, environment),
    cli: withDirectQueries(createSupabaseCli(PROJECT, environment, PROJECT_ROOT, stop), platform),
    fetch,
    clock: { ...hastyClock(), ...clock },
    ask,
    keeper,
    stop,
    found: { secretDigests: platform.digests() }, // as if the project had been looked at, which starts the CLI
  };
  await runStages(stages, deployment, (line) => printed.push(keeper.hide(line)));
  return printed.join("\n");
}

const withoutEmpty = (env: Record<string, string>) =>
  Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ""));
