import { join } from "node:path";
import postgres from "postgres";
import { checkCronRuns } from "../extensions/check-cron-runs.ts";
import { installExtensions } from "../extensions/install-extensions.ts";
import { bootstrapPlatform } from "../platform/bootstrap-platform.ts";
import { freePort } from "../postgres/free-port.ts";
import { applyMigrations } from "./apply-migrations.ts";
import { buildDashboard } from "./build-dashboard.ts";
import { ChildProcess, type SupervisedOptions } from "./child-process.ts";
import { claimData, type DataClaim } from "./data-claim.ts";
import { claimPort } from "./claim-port.ts";
import {
  describeAddresses,
  describeFunction,
  describeGateway,
  describeScheduler,
  describeSimulator,
} from "./describe-children.ts";
import { ensureDemoUser } from "./ensure-demo-user.ts";
import { fillVault } from "./fill-vault.ts";
import { FUNCTION_NAMES } from "./function-arguments.ts";
import { openDatabase } from "./open-database.ts";
import { resetData } from "./reset-data.ts";
import { loadStackKeys } from "./stack-keys.ts";
import type { Stack, StackOptions, Stage } from "./stack-types.ts";
import { Teardown } from "./teardown.ts";
import { Watchdog } from "./watchdog.ts";

/**
 * Starts everything a client of Keyframe talks to, on loopback.
 * Whatever fails takes down what had started; the error is one line that says what to do.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  options.signal?.throwIfAborted();
  if (options.reset && options.databaseUrl !== undefined) {
    throw new Error("--reset does not empty the Postgres of KEYFRAME_DATABASE_URL: create its database anew yourself.");
  }
  const port = claimPort(options.port);
  const claim = claimData(options.dataDir);
  const teardown = new Teardown();
  teardown.last(async () => claim.release());
  // Whatever is being waited for then ends, and the start with it.
  const giveUp = () => void teardown.stopChildren();
  options.signal?.addEventListener("abort", giveUp);
  try {
    return await bringUp(options, port, claim, teardown);
  } catch (error) {
    await teardown.run();
    throw error;
  } finally {
    options.signal?.removeEventListener("abort", giveUp);
  }
}

async function bringUp(options: StackOptions, port: number, claim: DataClaim, teardown: Teardown): Promise<Stack> {
  const { dataDir, signal, provider } = options;
  const stages: Stage[] = [];
  const stage = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    signal?.throwIfAborted();
    options.onStageStart?.(name);
    const start = performance.now();
    const result = await work();
    const done = { name, ms: Math.round(performance.now() - start) };
    stages.push(done);
    options.onStage?.(done);
    return result;
  };

  if (options.reset) await resetData(dataDir);
  const keys = await loadStackKeys(dataDir);
  const url = `http://127.0.0.1:${port}`;
  claim.announce({ url, ready: false, simulated: provider === undefined });
  const watchdog = new Watchdog();
  teardown.last(() => watchdog.stop());
  const simulatorPort = provider === undefined ? freePort() : undefined;
  const functionPorts = Object.fromEntries(FUNCTION_NAMES.map((name) => [name, freePort()]));
  const setting = { ...options, keys, url, port, simulatorPort, functionPorts, watchdog };

  const startChild = async (child: SupervisedOptions) => {
    signal?.throwIfAborted();
    const process = new ChildProcess(child);
    teardown.children.set(child.name, process);
    await process.start();
  };
  // Functions and simulator need no database to start: they come up beside it.
  const early = Promise.all([
    ...FUNCTION_NAMES.map((name) => startChild(describeFunction(setting, name))),
    ...(simulatorPort === undefined ? [] : [startChild(describeSimulator(setting, simulatorPort))]),
  ]);
  const dashboard = options.dashboard ? buildDashboard(signal) : Promise.resolve();
  for (const work of [early, dashboard]) work.catch(() => undefined); // awaited below; until then not to count as unhandled

  const database = await stage("Postgres", () => openDatabase(options));
  teardown.last(database.stop);

  const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
  teardown.last(() => sql.end({ timeout: 1 }));
  const extensions = await stage("Platform", async () => {
    await bootstrapPlatform(sql, { postgresPassword: keys.postgresPassword });
    const installed = await installExtensions(sql);
    if (installed.pg_cron === "real") await checkCronRuns(sql, signal ?? new AbortController().signal);
    return installed;
  });
  const migrationUrl = await database.migrationUrl(keys.postgresPassword);
  await stage("Migrations", () => applyMigrations(migrationUrl, join(dataDir, "cli-home"), signal));
  await fillVault(sql, { keyframe_functions_url: `${url}/functions/v1`, keyframe_kick_secret: keys.kickSecret });

  await stage("Gateway, functions, scheduler", () =>
    Promise.all([
      early,
      startChild(describeGateway(setting, database.url)),
      startChild(describeScheduler(setting, database.url, extensions)),
    ]),
  );
  if (options.dashboard) await stage("Dashboard", () => dashboard);
  const demoUser = await stage("Demo user", () => ensureDemoUser(url, keys));
  signal?.throwIfAborted();
  claim.announce({ url, ready: true, simulated: provider === undefined });
  return {
    url,
    keys,
    demoUser,
    databaseUrl: database.url,
    migrationUrl,
    extensions,
    simulator: simulatorPort === undefined ? null : { url: `http://127.0.0.1:${simulatorPort}` },
    children: teardown.children,
    functionUrls: describeAddresses(setting),
    stages,
    stop: () => teardown.run(),
  };
}
