import postgres from "postgres";
import { addListener, learnSecrets } from "./act-endpoints.ts";
import { prepareStrikes } from "./database-faults.ts";
import { watchObjects } from "./seen-objects.ts";
import { newUser, noteEnd, type User } from "./user.ts";
import { insist, type World } from "./world.ts";

/** Endpoints without an owner; `types` as Postgres writes a list. */
export const SERVICE_WIDE = [
  { slot: "steady-crm", steady: true, types: "{}" },
  { slot: "steady-archive", steady: true, types: "{}" },
  { slot: "moody-alarms", steady: false, types: "{generation.failed}" },
];

/** The settings an administrator would choose for a busy and impatient service; all that is promised holds with any. */
export async function prepare({ sql, stack, receivers }: World): Promise<void> {
  await sql`
    update keyframe_private.settings set max_active_per_owner = 12, poll_interval = '2 seconds', retry_base = '200 milliseconds', retry_most = '5 seconds',
      webhook_retry_schedule = '{1s,1s,2s,2s,4s,4s,8s,8s,15s,15s,30s,30s}'`;
  await sql`update keyframe_private.rate_limits set capacity = capacity * 100, per_second = per_second * 100`;
  await prepareStrikes(sql);
  await watchObjects(sql);
  const owner = postgres(stack.migrationUrl, { max: 1, fetch_types: false });
  await owner`select cron.schedule('keyframe-sweep', '2 seconds', 'select keyframe_private.sweep()')`;
  // By the hour, usually. What deleted accounts never used is to be gone at the end.
  await owner`select cron.schedule('keyframe-prune-references', '10 seconds', 'select keyframe_private.queue_unused_references()')`;
  await owner.end();
  // Receivers of everybody's events, as an administrator adds them in Studio.
  for (const { slot, types } of SERVICE_WIDE) {
    await sql`
      insert into keyframe.webhook_endpoints (url, event_types, max_in_flight)
      values (${receivers.urlOf(slot)}, ${types}::text::text[], 20)`;
  }
}

/** Signs users up, each with one steady endpoint and two others. */
export async function inviteUsers(world: World, seed: number, count: number): Promise<User[]> {
  const { users } = world;
  // One after the other: hashing forty passwords at once is more than a small machine does in the time of one request.
  for (let number = 0; number < count; number++) users.push(await insist(() => newUser(world, seed, number)));
  const byId = new Map(users.map((user) => [user.userId, user]));
  world.receivers.onEnd = (end) => {
    const user = byId.get(end.ownerId);
    if (user) noteEnd(user, end);
  };
  for (const user of users) {
    for (const kind of ["steady", "moody", "moody"] as const) await addListener(user, world, kind);
  }
  for (const { slot } of SERVICE_WIDE) await learnSecrets(world, slot);
  return users;
}
