import { join } from "node:path";
import postgres from "postgres";
import type { StackOptions } from "../../local/stack/stack-settings.ts";
import { startStack } from "../../local/stack/start-stack.ts";
import { Receivers } from "./receivers.ts";
import { Ledger, RUNNER, type World } from "./world.ts";

type OpenedWorld = { world: World; close(): Promise<void> };

/** Starts a throw-away stack with its receivers and without users. */
export async function openWorld(
  options: Pick<StackOptions, "dataDir" | "databaseUrl" | "simulator" | "signal">,
): Promise<OpenedWorld> {
  const { dataDir, databaseUrl } = options;
  const storageFaultFile = join(dataDir, "storage-fault.json");
  const stack = await startStack({ ...options, port: 0, durable: false, storageFaultFile });
  // The queries of postgres.js on a new connection reject outside of any call, so fetch_types is off.
  const sql = postgres(stack.databaseUrl, {
    max: 12,
    fetch_types: false,
    backoff: () => 0.2,
    connection: { application_name: RUNNER },
    onnotice: () => undefined,
  });
  const receivers = new Receivers();
  await receivers.open();
  const world: World = {
    ...{ stack, dataDir, isGiven: databaseUrl !== undefined, storageFaultFile, sql, receivers },
    ledger: new Ledger(),
    ...{ clients: new Map(), users: [], secondApiOrigin: null, hasWrongCallbackClock: false, replacements: [] },
  };
  const close = async () => {
    await sql.end({ timeout: 1 });
    await stack.stop();
    for (const other of world.replacements) await other.stop();
    await receivers.close();
  };
  return { world, close };
}
