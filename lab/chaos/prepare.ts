import { join } from "node:path";
import postgres from "postgres";
import type { StackOptions } from "../../local/stack/stack-settings.ts";
import { startStack } from "../../local/stack/start-stack.ts";
import { checkAddedSubmits, setBudgets } from "./costs.ts";
import { prepareErrors } from "./database-faults.ts";
import { addEndpoint, learnSecrets } from "./endpoint-actions.ts";
import { recordObjects } from "./invariants/ledger-tables.ts";
import { Receivers } from "./receivers.ts";
import { newUser, recordEnd } from "./users.ts";
import { Ledger, retry, RUNNER, type User, type World } from "./world.ts";

/** Starts a throw-away stack with its receivers and without users. */
export async function openWorld(
  options: Pick<StackOptions, "dataDir" | "databaseUrl" | "signal">,
): Promise<{ world: World; close(): Promise<void> }> {
  const { dataDir, databaseUrl } = options;
  const storageFaultFile = join(dataDir, "storage-fault.json");
  const simulator = { startDelayMs: 50, runDelayMs: 300 };
  const stack = await startStack({ ...options, port: 0, durable: false, storageFaultFile, simulator });
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
    ...{ users: [], secondApiOrigin: null },
  };
  const close = async () => {
    await sql.end({ timeout: 1 });
    await stack.stop();
    await receivers.close();
  };
  return { world, close };
}

/** Endpoints without an owner; `types` as a Postgres array literal. */
export const SERVICE_WIDE = [
  { hook: "steady-crm", steady: true, types: "{}" },
  { hook: "steady-archive", steady: true, types: "{}" },
  { hook: "changing-alarms", steady: false, types: "{generation.failed}" },
];

/** Settings of a busy service with short retries. Every invariant holds with any settings. */
export async function prepare({ sql, stack, receivers }: World): Promise<void> {
  await sql`
    update keyframe_private.settings set max_active_per_owner = 12, poll_interval = '2 seconds', retry_base = '200 milliseconds', retry_max = '5 seconds',
      webhook_retry_schedule = '{1s,1s,2s,2s,4s,4s,8s,8s,15s,15s,30s,30s}'`;
  await sql`update keyframe_private.rate_limits set capacity = capacity * 100, per_second = per_second * 100`;
  await prepareErrors(sql);
  await recordObjects(sql);
  await checkAddedSubmits(sql);
  const owner = postgres(stack.migrationUrl, { max: 1, fetch_types: false });
  await owner`select cron.schedule('keyframe-sweep', '2 seconds', 'select keyframe_private.sweep()')`;
  // Hourly by default; here the unused images of deleted accounts must be gone at the end.
  await owner`select cron.schedule('keyframe-prune-references', '10 seconds', 'select keyframe_private.queue_unused_references()')`;
  await owner.end();
  // Service-wide endpoints, as an administrator adds them in Studio.
  for (const { hook, types } of SERVICE_WIDE) {
    await sql`
      insert into keyframe.webhook_endpoints (url, event_types, max_in_flight)
      values (${receivers.urlOf(hook)}, ${types}::text::text[], 20)`;
  }
}

/** Signs users up, each with one steady endpoint and two changing ones. */
export async function signUpUsers(world: World, seed: number, count: number): Promise<User[]> {
  const { users } = world;
  // One after the other: hashing forty passwords at once takes a small machine longer than a request may.
  for (let number = 0; number < count; number++) users.push(await retry(() => newUser(world, seed, number)));
  await setBudgets(world.sql, users);
  const byId = new Map(users.map((user) => [user.userId, user]));
  world.receivers.onEnd = (end) => {
    const user = byId.get(end.ownerId);
    if (user) recordEnd(user, end);
  };
  for (const user of users) {
    for (const kind of ["steady", "changing", "changing"] as const) await addEndpoint(user, world, kind);
  }
  for (const { hook } of SERVICE_WIDE) await learnSecrets(world, hook);
  return users;
}
