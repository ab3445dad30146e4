import { join } from "node:path";
import postgres from "postgres";
import { inject } from "vitest";
import type { ChildProcess } from "../../../local/stack/child-process.ts";
import { removeData } from "../../../local/stack/data-folder.ts";
import type { StackOptions } from "../../../local/stack/stack-settings.ts";
import { type Stack, startStack } from "../../../local/stack/start-stack.ts";
import { setQuickIntervals } from "./quick-settings.ts";
import type { StackInfo } from "./global-setup.ts";
import { cloneTemplate } from "../database/clone-database.ts";
import { onServer } from "../../../local/postgres/on-server.ts";

/** What a flow test needs of a stack, whether it is the shared one or its own. */
export type FlowStack = Pick<
  StackInfo,
  | "url"
  | "publishableKey"
  | "secretKey"
  | "kickSecret"
  | "replicateToken"
  | "replicateWebhookSecret"
  | "databaseUrl"
  | "simulatorUrl"
  | "dataDir"
>;

/** A stack of one test file's own, whose processes it may kill and whose simulator it may slow down. */
export type OwnStack = FlowStack & {
  running: Stack;
  sql: postgres.Sql;
  child(name: string): ChildProcess;
  /** Sets how long each run of the simulator takes from now on. */
  setRunDelay(ms: number): Promise<void>;
  /** Moves the simulator's clock ahead, so that runs under way end. */
  passTimeAtProvider(seconds: number): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Starts a throw-away stack on free ports, or with a simulator of the test's own as its provider. It sweeps every second instead of
 * every five. Stop it in afterAll. Its database is a clone of the template, on the server of all tests, unless `ownServer` or another one
 * of that server is given.
 */
export async function startOwnStack({
  ownServer = false,
  databaseUrl,
  ...options
}: { ownServer?: boolean; databaseUrl?: string } & Partial<
  Pick<StackOptions, "port" | "provider" | "workers">
> = {}): Promise<OwnStack> {
  const dataDir = await Deno.makeTempDir({ prefix: "keyframe-flow-" });
  const database = ownServer ? undefined : (databaseUrl ?? (await cloneTemplate()));
  const simulator = { startDelayMs: 0, runDelayMs: 0, imageWidth: 160 };
  const workers = inject("stack")?.workers; // test/engines has no stack for all
  const setting = { dataDir, port: 0, databaseUrl: database, durable: false, simulator, workers };
  const start = () => startStack({ ...setting, ...options });
  const stack = await (database === undefined ? start() : inTurn(database, dataDir, start)).catch(async (error) => {
    await removeData(dataDir);
    throw error;
  });
  const sql = connect(stack.databaseUrl);
  await setQuickIntervals(sql);
  // As the role of the migrations, whose job it is.
  const owner = connect(stack.migrationUrl, 1);
  await owner`select cron.schedule('keyframe-sweep', '1 second', 'select keyframe_private.sweep()')`;
  await owner.end();
  const simulatorUrl = stack.simulator?.url ?? "";
  return {
    ...stack.keys,
    running: stack,
    url: stack.url,
    databaseUrl: stack.databaseUrl,
    simulatorUrl,
    dataDir,
    sql,
    child: (name) => {
      const child = stack.children.get(name);
      if (!child) throw new Error(`The stack has no child ${name}.`);
      return child;
    },
    setRunDelay: (ms) => control(simulatorUrl, "delays", { run_ms: ms }),
    passTimeAtProvider: (seconds) => control(simulatorUrl, "advance", { seconds }),
    stop: async () => {
      await sql.end({ timeout: 1 });
      await stack.stop();
      await removeData(dataDir);
    },
  };
}

/** Databases of one server share its roles, so stacks on them have the same keys and start one after the other. */
async function inTurn<T>(clone: string, dataDir: string, start: () => Promise<T>): Promise<T> {
  const { databaseUrl, dataDir: sharedDir } = inject("stack");
  await Deno.copyFile(join(sharedDir, "keys.json"), join(dataDir, "keys.json"));
  await onServer(clone, (sql) => sql`update cron.job set database = current_database()`);
  return await onServer(databaseUrl, async (sql) => {
    await sql`select pg_advisory_lock(732002)`;
    return await start();
  });
}

async function control(simulatorUrl: string, what: string, body: unknown): Promise<void> {
  const response = await fetch(`${simulatorUrl}/control/${what}`, { method: "POST", body: JSON.stringify(body) });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`The simulator answered ${response.status}.`);
}

/** A superuser's connections to a stack's database. */
export function connect(databaseUrl: string, max = 4): postgres.Sql {
  return postgres(databaseUrl, { max, onnotice: () => undefined });
}
