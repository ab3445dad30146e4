import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { readDeploySettings } from "../../../tools/deploy/settings.ts";
import { runDeployment } from "../../../tools/deploy/run-deployment.ts";
import { createSecretKeeper, type Progress } from "../../../tools/deploy/output.ts";
import type { Stage } from "../../../tools/deploy/stage.ts";
import { createSupabaseCli } from "../../../tools/deploy/supabase-cli.ts";
import { runPgNetWorker } from "../../../local/extensions/pg-net-worker.ts";
import { installExtensions } from "../../../local/extensions/install-extensions.ts";
import { bootstrapPlatform } from "../../../local/platform/bootstrap-platform.ts";
import { removePostgresData } from "../../../local/postgres/server-user.ts";
import { startPostgres } from "../../../local/postgres/start-postgres.ts";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { forgetProject, logIn } from "./deploy-login.ts";
import { DeployPlatform, PROJECT, REPLICATE_TOKEN } from "./deploy-platform.ts";

export type Ran = { code: number; stdout: string; stderr: string };

/** A hosted project nobody has deployed to yet, and the command that deploys, run as a person runs it. */
export type DeployScene = {
  platform: DeployPlatform;
  /** The connection string of the project's database. */
  databaseUrl: string;
  /** A superuser's connection to it. */
  sql: postgres.Sql;
  /** The environment of a person who is logged in. */
  login: Record<string, string>;
  /** A variable of "" is left out. */
  deploy(args?: string[], environment?: Record<string, string>): Promise<Ran>;
  /** The same, not waited for. */
  start(environment: Record<string, string>): Deno.ChildProcess;
  /**
   * Takes some of the stages, in this process: the command's failures without its other stages. Pauses take no time.
   * Throws what it would print.
   */
  take(stages: Stage[], environment?: Record<string, string>): Promise<void>;
  stop(): Promise<void>;
};

const PASSWORD = "of-the-database";

/** Of a test, which waits in silence. */
export const silent: Progress = { during: (_doing, work) => work };

/** Pauses pass at once. */
export function hastyClock() {
  let now = 0;
  return {
    now: () => now,
    sleep: async (ms: number) => {
      now += ms;
    },
    timeout: (ms: number) => AbortSignal.timeout(ms),
  };
}

export async function openDeployScene(): Promise<DeployScene> {
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
    databaseUrl,
    sql,
    login,
    deploy: async (args = [], environment = {}) => {
      const { code, stdout, stderr } = await deployCommand(args, { ...usual, ...environment }).output();
      const decoder = new TextDecoder();
      return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
    },
    start: (environment) => deployCommand([], { ...usual, ...environment }).spawn(),
    take: async (stages, environment = {}) => {
      const set = withoutEmpty({ ...usual, ...environment });
      const given = { help: false, project: PROJECT, dryRun: false, dashboard: false, localBundling: false } as const;
      const deployment = {
        settings: readDeploySettings(given, set),
        cli: createSupabaseCli(PROJECT, set, silent),
        fetch,
        clock: hastyClock(),
        progress: silent,
        keeper: createSecretKeeper(),
        found: { secretDigests: new Map<string, string>() },
      };
      await runDeployment(deployment, () => undefined, stages);
    },
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

function deployCommand(args: string[], env: Record<string, string>): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", join(PROJECT_ROOT, "tools/deploy.ts"), "--project", PROJECT, ...args],
    clearEnv: true,
    env: withoutEmpty(env),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

const withoutEmpty = (env: Record<string, string>) =>
  Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ""));
