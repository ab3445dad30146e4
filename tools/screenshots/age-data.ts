import postgres from "postgres";

/** The share of deliveries in each of the last 24 hours; the present one is last. */
const SHARES = [0, 0, 1, 0, 0, 0, 1, 2, 4, 6, 9, 8, 5, 7, 9, 10, 8, 6, 3, 2, 1, 2, 3, 2];

/** Moves what was made just now into the past, so that the pictures show days of work. */
export async function ageData(databaseUrl: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    await spreadProjects(sql);
    await giveRunsTime(sql);
    await spreadDeliveries(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Each project about a day before the next, in their order. */
async function spreadProjects(sql: postgres.Sql): Promise<void> {
  await sql`
    update keyframe.projects p
    set created_at = now() - make_interval(hours => (26 * o.newer + 3)::int)
    from (select id, row_number() over (order by created_at desc) - 1 as newer from keyframe.projects) o
    where p.id = o.id`;
}

/** Durations of real models. */
async function giveRunsTime(sql: postgres.Sql): Promise<void> {
  const runs = [
    { step: "first-frame", after: 240, took: 14 },
    { step: "last-frame", after: 300, took: 16 },
    { step: "video", after: 420, took: 74 },
  ];
  for (const { step, after, took } of runs) {
    await sql`
      update keyframe.predictions r
      set created_at = p.created_at + make_interval(secs => ${after}),
        started_at = p.created_at + make_interval(secs => ${after + 1}),
        completed_at = p.created_at + make_interval(secs => ${after + took})
      from keyframe.projects p
      where p.id = r.project_id and r.step = ${step} and r.completed_at is not null`;
  }
}

/** Spreads ended deliveries over the last 24 hours; pending ones stay. */
async function spreadDeliveries(sql: postgres.Sql): Promise<void> {
  await sql`
    with hours as (
      select ${SHARES.length} - hour as hours_ago, sum(share) over (order by hour)::numeric / sum(share) over () as upto
      from unnest(${SHARES}::int[]) with ordinality as shares (share, hour)
    ), placed as (
      select id, cume_dist() over (partition by endpoint_id order by created_at) as rank
      from keyframe.webhook_deliveries
      where status <> 'pending'
    ), moved as (
      select p.id, now() - make_interval(hours => h.hours_ago::int, secs => 10) as at
      from placed p
      cross join lateral (select hours_ago from hours where upto >= p.rank::numeric order by upto limit 1) h
    ), deliveries as (
      update keyframe.webhook_deliveries d
      set created_at = m.at, last_attempt_at = m.at + interval '1 second', completed_at = m.at + interval '1 second'
      from moved m
      where d.id = m.id
      returning d.id, m.at
    )
    update keyframe.webhook_attempts a
    set started_at = d.at + make_interval(secs => a.attempt)
    from deliveries d
    where a.delivery_id = d.id`;
}
