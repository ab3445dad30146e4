import { shiftTime } from "./shift-time.ts";
import { insist, pause, type World } from "./world.ts";

const LOOK_EVERY_MS = 1_000;
/** When so long nothing has changed, what is left waits for its time: leases of the dead, back-offs. */
const STILL_MS = 6_000;
const PASS_S = 120;

export type OpenWork = {
  predictions: number;
  deliveries: number;
  runs: number;
  searches: number;
  removals: number;
  kicks: number;
  looking: number;
};

/**
 * Waits until nothing is left to do, for at most so many seconds. Where all that is left waits for a lease to run out or for a
 * back-off, time is let pass (see shift-time.ts). Returns what is left: nothing, or what never ended.
 */
export async function drain({ sql }: World, seconds: number, say: (line: string) => void): Promise<OpenWork> {
  const end = performance.now() + seconds * 1000;
  let last = "";
  let changedAt = performance.now();
  for (;;) {
    const work = await insist(() => openWork(sql));
    if (Object.values(work).every((count) => count === 0) || performance.now() > end) return work;
    const now = JSON.stringify(work);
    if (now !== last) {
      last = now;
      changedAt = performance.now();
      say(`left: ${describe(work)}`);
    } else if (performance.now() - changedAt > STILL_MS) {
      say(`two minutes are let pass`);
      await shiftTime(sql, PASS_S);
      changedAt = performance.now();
    }
    await pause(LOOK_EVERY_MS);
  }
}

export const describe = (work: OpenWork): string =>
  Object.entries(work)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");

async function openWork(sql: World["sql"]): Promise<OpenWork> {
  const [row] = await sql<OpenWork[]>`
    select
      (select count(*)::int from keyframe.predictions where is_active) as predictions,
      (select count(*)::int from keyframe.webhook_deliveries d join keyframe.webhook_endpoints e on e.id = d.endpoint_id
        where d.status = 'pending' and (e.enabled or exists (
          select from keyframe_private.delivery_leases l where l.delivery_id = d.id and l.leased_until > now()))) as deliveries,
      (select count(*)::int from keyframe_private.provider_runs where cancel_due_at is not null) as runs,
      (select count(*) from keyframe.predictions where unanswered_since is not null and status in ('failed', 'canceled'))::int
        + (select count(*) from keyframe_private.unanswered_submits where search_task is not null)::int as searches,
      (select count(*)::int from keyframe_private.file_removals)
        + (select count(*) from storage.objects o where o.bucket_id = 'projects'
            and not exists (select from auth.users u where u.id::text = o.owner_id))::int as removals,
      (select count(*)::int from net.http_request_queue) as kicks,
      (select count(*)::int from keyframe_private.worker_heartbeats where alive_until > now()) as looking`;
  if (!row) throw new Error("Postgres counted nothing.");
  return row;
}
