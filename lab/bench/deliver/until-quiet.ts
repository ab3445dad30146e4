import type postgres from "postgres";

const LOOK_EVERY_MS = 20;
const PATIENCE_MS = 60_000;
/** pg_net rests for up to a second after whatever it sent. */
const PG_NET_RESTS = "1.1 seconds";

/** Resolves when no deliver function looks for work any more and pg_net has nothing to send, nor to rest from. */
export async function untilQuiet(sql: postgres.Sql): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await isQuiet(sql))) {
    if (performance.now() > end) throw new Error(`Something was still under way after ${PATIENCE_MS} ms.`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

async function isQuiet(sql: postgres.Sql): Promise<boolean> {
  const [row] = await sql<{ quiet: boolean }[]>`
    select not exists (select from keyframe_private.worker_heartbeats l where l.alive_until > clock_timestamp())
      and not exists (select from net.http_request_queue)
      and not exists (select from net._http_response r where r.created > clock_timestamp() - ${PG_NET_RESTS}::interval) as quiet`;
  return row?.quiet === true;
}
