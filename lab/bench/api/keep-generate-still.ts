import type postgres from "postgres";

const LOOK_EVERY_MS = 50;
const PATIENCE_MS = 60_000;

/**
 * Does `work` while nothing wakes the function generate, as on a service where it is looking for work anyway: what is started
 * meanwhile stays queued, so that a start can be measured without what follows it.
 */
export async function keepGenerateStill<Value>(sql: postgres.Sql, work: () => Promise<Value>): Promise<Value> {
  const began = performance.now();
  const isLooking = async () =>
    (await sql`select from keyframe_private.worker_heartbeats where function_name = 'generate' and alive_until > now()`)
      .length > 0;
  while (await isLooking()) {
    if (performance.now() - began > PATIENCE_MS)
      throw new Error(`generate is looking for work after ${PATIENCE_MS} ms.`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  await sql`
    insert into keyframe_private.worker_heartbeats (function_name, alive_until) values ('generate', 'infinity')
    on conflict (function_name) do update set alive_until = excluded.alive_until`;
  try {
    return await work();
  } finally {
    await sql`update keyframe_private.worker_heartbeats set alive_until = '-infinity' where function_name = 'generate'`;
  }
}
