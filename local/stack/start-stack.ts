import { createClient, type Session } from "@supabase/supabase-js";
import { join } from "node:path";
import postgres from "postgres";
import { checkCronRuns, type Installed, installExtensions } from "../extensions/install-extensions.ts";
import { claimPort, freePort } from "../network.ts";
import { bootstrapPlatform } from "../platform/bootstrap-platform.ts";
import { applyMigrations, fillVault, adoptAddress } from "./apply-migrations.ts";
import { buildDashboard } from "./build-dashboard.ts";
import { ChildProcess, type SupervisedOptions } from "./child-process.ts";
import { claimData, type DataClaim, resetData } from "./data-folder.ts";
import {
  describeAddresses,
  describeFunction,
  describeGateway,
  describeScheduler,
  describeSimulator,
  describeWorker,
  PROCESS_NAMES,
} from "./describe-children.ts";
import { FUNCTION_NAMES } from "./function-arguments.ts";
import { openDatabase } from "./open-database.ts";
import { demoUserOf, loadStackKeys, type StackKeys } from "./stack-keys.ts";
import type { Stage } from "../../command-line/show-stages.ts";
import type { StackOptions } from "./stack-settings.ts";

/** A running stack. */
export type Stack = {
  /** The gateway: /auth/v1, /rest/v1, /storage/v1 and /functions/v1 are below it. */
  url: string;
  keys: StackKeys;
  demoUser: { email: string; password: string };
  /** The session of the demo user, who has just signed in. */
  demoSession: Session;
  /** The database's URL with the superuser. */
  databaseUrl: string;
  /** The database's URL with the role `postgres`, as on the hosted platform. */
  migrationUrl: string;
  extensions: Installed;
  /** Null with the real Replicate. */
  simulator: { url: string } | null;
  /** The functions, gateway, scheduler and simulator, by name. For fault tests. */
  children: Map<string, ChildProcess>;
  /** Each function's own address, behind the gateway. For tests and benchmarks. */
  functionUrls: Record<string, string>;
  stages: Stage[];
  /** May be called twice. */
  stop(): Promise<void>;
};

/**
 * Starts the whole stack on loopback. When a part fails, what has started is stopped, and the error is one line that says
 * what to do.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  options.signal?.throwIfAborted();
  if (options.reset && options.databaseUrl !== undefined) {
    throw new Error(
      "--reset does not empty the Postgres of KEYFRAME_DATABASE_URL: drop and create its database yourself.",
    );
  }
  const port = claimPort(options.port);
  const claim = claimData(options.dataDir);
  const children = new Map<string, ChildProcess>();
  const ends = new AsyncDisposableStack();
  ends.defer(claim.release);
  const stopChildren = () => Promise.all([...children.values()].map((child) => child.stop()));
  let stopped: Promise<void> | undefined;
  /** Ends all children together first, then the rest in reverse order. A failed end does not stop the others. */
  const stop = () => {
    stopped ??= stopChildren()
      .then(() => ends.disposeAsync())
      .catch(() => undefined);
    return stopped;
  };
  // Ends what the start waits for, and so the start.
  const giveUp = () => void stopChildren();
  options.signal?.addEventListener("abort", giveUp);
  try {
    return await bringUp(options, port, claim, { children, ends, stop });
  } catch (error) {
    await stop();
    throw error;
  } finally {
    options.signal?.removeEventListener("abort", giveUp);
  }
}

type Parts = Pick<Stack, "children" | "stop"> & { ends: AsyncDisposableStack };

async function bringUp(options: StackOptions, port: number, claim: DataClaim, parts: Parts): Promise<Stack> {
  const { children, ends, stop } = parts;
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
  const simulatorPort = provider === undefined ? freePort() : undefined;
  const functionPorts = Object.fromEntries(FUNCTION_NAMES.map((name) => [name, freePort()]));
  const setting = { ...options, keys, url, port, simulatorPort, functionPorts };

  const startChild = async (child: SupervisedOptions) => {
    signal?.throwIfAborted();
    const process = new ChildProcess(child);
    children.set(child.name, process);
    await process.start();
  };
  // Functions and simulator start without a database, so they start at the same time.
  const { workers = "functions" } = options;
  const processes = workers === "functions" ? [] : PROCESS_NAMES;
  const functions = FUNCTION_NAMES.filter((name) => !processes.some((process) => process === name));
  const early = Promise.all([
    ...functions.map((name) => startChild(describeFunction(setting, name))),
    ...(simulatorPort === undefined ? [] : [startChild(describeSimulator(setting, simulatorPort))]),
  ]);
  const dashboard = options.dashboard ? buildDashboard(signal) : Promise.resolve();
  for (const work of [early, dashboard]) work.catch(() => undefined); // awaited below

  const database = await stage("Postgres", () => openDatabase(options));
  ends.defer(database.stop);

  const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
  ends.defer(() => sql.end({ timeout: 1 }));
  const extensions = await stage("Platform", async () => {
    await bootstrapPlatform(sql, { postgresPassword: keys.postgresPassword });
    const installed = await installExtensions(sql);
    if (installed.pg_cron === "real") await checkCronRuns(sql, signal ?? new AbortController().signal);
    return installed;
  });
  const migrationUrl = await database.migrationUrl(keys.postgresPassword);
  await stage("Migrations", () => applyMigrations(migrationUrl, join(dataDir, "cli-home"), signal, options.project));
  await fillVault(sql, { keyframe_kick_secret: keys.kickSecret });
  const copied = await adoptAddress(sql, url, keys.secretKey);
  if (copied !== undefined) options.onProblem?.(copied);

  await stage("Gateway, functions, scheduler", () =>
    Promise.all([
      early,
      startChild(describeGateway(setting, database.url)),
      startChild(describeScheduler(setting, database.url, extensions)),
      ...processes.map((name) =>
        startChild(describeWorker(setting, name, workers === "database" ? migrationUrl : undefined)),
      ),
    ]),
  );
  if (options.dashboard) await stage("Dashboard", () => dashboard);
  const demoSession = await stage("Demo user", () => signInDemoUser(url, keys));
  signal?.throwIfAborted();
  const { host, pathname } = new URL(migrationUrl);
  claim.announce({ url, database: host + pathname, ready: true, simulated: provider === undefined });
  return {
    url,
    keys,
    demoUser: demoUserOf(keys),
    demoSession,
    databaseUrl: database.url,
    migrationUrl,
    extensions,
    simulator: simulatorPort === undefined ? null : { url: `http://127.0.0.1:${simulatorPort}` },
    children,
    functionUrls: describeAddresses(setting),
    stages,
    stop,
  };
}

/** Signs the demo user in through Auth, and up at the first start. Throws a sentence that says what to do. */
export async function signInDemoUser(url: string, keys: StackKeys): Promise<Session> {
  const user = demoUserOf(keys);
  const { auth } = createClient(url, keys.publishableKey, { auth: { persistSession: false, autoRefreshToken: false } });
  const known = await auth.signInWithPassword(user);
  const { data, error } = known.error ? await auth.signUp(user) : known;
  if (data.session) return data.session;
  if (error?.code === "user_already_exists")
    throw new Error(
      "The database has the demo user of another data folder, whose password is not in this keys.json. Name that folder with --data, or use an empty database.",
    );
  throw new Error(`The demo user could not be signed up: ${error?.message ?? "no session was given"}`);
}
