import { join } from "node:path";
import postgres from "postgres";
import { installExtensions } from "../extensions/install-extensions.ts";
import { bootstrapPlatform } from "../platform/bootstrap-platform.ts";
import { freePort } from "../postgres/free-port.ts";
import { applyMigrations } from "./apply-migrations.ts";
import { ChildProcess, type ChildOptions } from "./child-process.ts";
import { claimPort } from "./claim-port.ts";
import { describeFunction, describeGateway, describeScheduler, describeSimulator } from "./describe-children.ts";
import { ensureDemoUser } from "./ensure-demo-user.ts";
import { fillVault } from "./fill-vault.ts";
import { FUNCTION_NAMES } from "./function-arguments.ts";
import { openDatabase } from "./open-database.ts";
import { loadStackKeys } from "./stack-keys.ts";
import type { Stack, StackOptions, Stage } from "./stack-types.ts";

/**
 * Starts everything a client of Keyframe talks to, on loopback.
 * Whatever fails takes down what had started; the error is one line that says what to do.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const ends: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    return await bringUp(options, ends, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function bringUp(
  options: StackOptions,
  ends: (() => Promise<void>)[],
  stop: () => Promise<void>,
): Promise<Stack> {
  const { dataDir } = options;
  const stages: Stage[] = [];
  const stage = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const start = performance.now();
    const result = await work();
    const done = { name, ms: Math.round(performance.now() - start) };
    stages.push(done);
    options.onStage?.(done);
    return result;
  };

  await Deno.mkdir(join(dataDir, "logs"), { recursive: true });
  const port = claimPort(options.port);
  const keys = await loadStackKeys(dataDir);
  const url = `http://127.0.0.1:${port}`;
  const simulatorPort = options.replicateApiToken === undefined ? freePort() : undefined;
  const functionPorts = Object.fromEntries(FUNCTION_NAMES.map((name) => [name, freePort()]));
  const setting = { ...options, keys, url, port, simulatorPort, functionPorts };

  const children = new Map<string, ChildProcess>();
  const startChild = async (child: ChildOptions) => {
    const process = new ChildProcess(child);
    children.set(child.name, process);
    ends.push(() => process.stop());
    await process.start();
  };
  // Functions and simulator need no database to start: they come up beside it.
  const early = Promise.all([
    ...FUNCTION_NAMES.map((name) => startChild(describeFunction(setting, name))),
    ...(simulatorPort === undefined ? [] : [startChild(describeSimulator(setting, simulatorPort))]),
  ]);
  early.catch(() => undefined); // awaited below; until then it must not count as unhandled

  const database = await stage("Postgres", () => openDatabase(options));
  // Last to stop: everything else still talks to it.
  ends.unshift(database.stop);

  const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
  ends.push(() => sql.end({ timeout: 1 }));
  const extensions = await stage("Platform", async () => {
    await bootstrapPlatform(sql, { postgresPassword: keys.postgresPassword });
    return await installExtensions(sql);
  });
  const migrationUrl = await database.migrationUrl(keys.postgresPassword);
  await stage("Migrations", () => applyMigrations(migrationUrl, join(dataDir, "cli-home")));
  await fillVault(sql, { functions_url: `${url}/functions/v1`, kick_secret: keys.kickSecret });

  await stage("Gateway, functions, scheduler", () =>
    Promise.all([
      early,
      startChild(describeGateway(setting, database.url)),
      startChild(describeScheduler(setting, database.url, extensions)),
    ]),
  );
  const demoUser = await stage("Demo user", () => ensureDemoUser(url, keys));
  return {
    url,
    keys,
    demoUser,
    databaseUrl: database.url,
    migrationUrl,
    extensions,
    simulator: simulatorPort === undefined ? null : { url: `http://127.0.0.1:${simulatorPort}` },
    children,
    stages,
    stop,
  };
}
