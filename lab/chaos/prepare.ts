import postgres from "postgres";
import { balanceActions } from "./balance-actions.ts";
import { prepareErrors } from "./database-faults.ts";
import { addEndpoint, learnSecrets } from "./endpoint-actions.ts";
import type { Hook } from "./faults.ts";
import { newUser, recordEnd } from "./users.ts";
import { retryUntilDone, type World } from "./world.ts";

/** Endpoints without an owner; `types` as a Postgres array literal. */
const SERVICE_WIDE = [
  { hook: "steady-crm", steady: true, types: "{}" },
  { hook: "changing-alarms", steady: false, types: "{generation.failed}" },
];

/**
 * Settings of a busy service with short retries (every invariant holds with any settings), service-wide endpoints as an administrator adds
 * them in Studio, and users, each with one steady endpoint and two changing ones, every second
 * with a prepaid balance. Returns all hooks.
 */
export async function prepare(world: World, seed: number, count: number): Promise<() => Hook[]> {
  const { sql, stack, receivers, users } = world;
  await sql`
    update keyframe_private.settings set max_active_per_owner = 12, poll_interval = '2 seconds', retry_base = '200 milliseconds', retry_max = '5 seconds',
      webhook_retry_schedule = '{1s,1s,2s,2s,4s,4s,8s,8s,15s,15s,30s,30s}'`;
  await prepareErrors(sql);
  const owner = postgres(stack.migrationUrl, { max: 1, fetch_types: false });
  await owner`select cron.schedule('keyframe-sweep', '2 seconds', 'select keyframe_private.sweep()')`;
  // Hourly by default; here the unused images of deleted accounts must be gone at the end.
  await owner`select cron.schedule('keyframe-remove-unused-uploads', '10 seconds', 'select keyframe_private.add_removals_of_unused_uploads()')`;
  await owner.end();
  for (const { hook, types } of SERVICE_WIDE) {
    await sql`
      insert into keyframe.webhook_endpoints (url, event_types, max_in_flight)
      values (${receivers.urlOf(hook)}, ${types}::text::text[], 20)`;
    await learnSecrets(world, hook);
  }
  // One after the other: hashing forty passwords at once takes a small machine longer than a request may.
  for (let number = 0; number < count; number++) users.push(await retryUntilDone(() => newUser(world, seed, number)));
  const byId = new Map(users.map((user) => [user.userId, user]));
  receivers.onEvent = (event) => {
    const user = byId.get(event.ownerId);
    if (user) recordEnd(user, event);
  };
  for (const user of users) {
    for (const kind of ["steady", "changing", "changing"] as const) await addEndpoint(user, world, kind);
    await balanceActions(user, world).purchase();
  }
  return () => [...SERVICE_WIDE, ...users.flatMap(({ endpoints }) => endpoints)];
}
