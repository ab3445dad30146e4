import { insist, type World } from "./world.ts";

/** What came of a run, in numbers, once the ledger is written. */
export async function countAll({ sql, receivers, ledger }: World): Promise<Record<string, number>> {
  const [row] = await insist(
    () => sql<Record<string, number>[]>`
      select
        (select count(*)::int from keyframe.projects) as projects,
        (select count(*)::int from chaos.starts where prediction_id is not null) as "accepted starts",
        (select count(*)::int from keyframe.predictions where status = 'succeeded') as succeeded,
        (select count(*)::int from keyframe.predictions where status = 'failed') as failed,
        (select count(*)::int from keyframe.predictions where status = 'canceled') as canceled,
        (select count(*)::int from chaos.runs) as "runs at the provider",
        (select count(*)::int from (select from chaos.starts where prediction_id is not null
          group by prompt having count(*) > 1) pair) as "pairs of equal starts",
        (select count(*)::int from chaos.runs r where not exists (
          select from keyframe_private.provider_runs o where o.provider_prediction_id = r.id)) as "runs of equal texts in no row",
        (select count(*)::int from keyframe_private.unanswered_submits) as "submits unanswered when their prediction was deleted",
        (select count(*)::int from chaos.deleted_projects d
          where not exists (select from keyframe.projects p where p.id = d.project_id)) as "deleted projects",
        (select count(*)::int from chaos.addresses) as "signed addresses",
        (select count(*)::int from keyframe.webhook_events) as events,
        (select count(*)::int from keyframe.webhook_deliveries where status = 'delivered') as "deliveries delivered",
        (select count(*)::int from keyframe.webhook_deliveries where status = 'exhausted') as "deliveries exhausted",
        (select count(*)::int from keyframe.webhook_deliveries where status = 'pending') as "deliveries waiting for a disabled endpoint",
        (select count(*)::int from keyframe.webhook_attempts) as "delivery attempts",
        (select count(*)::int from keyframe_private.webhook_hours) as "hours counted for endpoints",
        (select count(*)::int from storage.objects) as "files in Storage",
        (select count(*)::int from chaos.seen_objects) as "files that ever had a row",
        (select count(*)::int from chaos.files f where not exists (
          select from storage.objects o where o.bucket_id = f.bucket and o.name = f.name)) as "files of uploads that failed at their row",
        (select count(*)::int from chaos.stray_callbacks) as "callbacks refused by a wrong clock",
        (select count(*)::int from chaos.tellings) as "times a user was told of a prediction",
        (select count(*)::int from chaos.tellings where code = 304) as "of these by 304"`,
  );
  return {
    ...row,
    "requests at receivers": receivers.arrivals,
    "of these with a time that is wrong": [...receivers.seen.values()].reduce((all, { stale }) => all + stale, 0),
    "calls of users": sum(ledger.calls),
    "health probes": ledger.probes.length,
    "health probes answered 503": ledger.probes.filter(({ status }) => status === 503).length,
    "slowest health probe, ms": Math.max(0, ...ledger.probes.map(({ ms }) => ms)),
  };
}

const sum = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((all, one) => all + one, 0);
