import type postgres from "postgres";

const PER_PROJECT = 10;
const FAILING = 0.05;
const BATCH = 100;

/**
 * One simulated minute: so many predictions (a multiple of ten) are started in new projects, run and stored; everything due is
 * sent, one in twenty in vain; what is oldest goes, as much as has come. Every statement commits, as the functions' do. `minute`
 * dates the attempts, so that retries of an earlier minute are due. Throws when it did not do its work.
 */
export async function churnMinute(sql: postgres.Sql, minute: number, predictions: number): Promise<void> {
  const newProjects = predictions / PER_PROJECT;
  const at = new Date(Date.now() + minute * 60_000);
  const projects = await sql<{ id: string }[]>`
    insert into keyframe.projects (owner_id, title, text_prompt)
    select md5('owner ' || 11 + (${minute}::int * 7 + i) % 80)::uuid, 'Churn', repeat('A harbour at dawn. ', 20)
    from generate_series(1, ${newProjects}::int) i returning id`;
  const ids = projects.map(({ id }) => id);
  await sql`
    insert into keyframe.predictions (project_id, step)
    select id, 'first-frame' from unnest(${ids}::uuid[]) id, generate_series(1, ${PER_PROJECT}::int)`;
  await sql`
    delete from keyframe.projects where id in (
      select id from keyframe.projects order by created_at limit ${newProjects}::int)`;
  await runPredictions(sql);
  await sendDeliveries(sql, at);
  await sql`select keyframe_private.prune_webhooks(${predictions + newProjects}::int)`;
  await checkMinute(sql, ids, predictions);
}

type Task = { task: string; id: string; attempt: number; lease_token: string };

/** As generate does, but for the provider: what is claimed succeeds at once. */
async function runPredictions(sql: postgres.Sql): Promise<void> {
  for (;;) {
    const rows = await sql<
      { task: Task }[]
    >`select claim_predictions as task from keyframe_worker.claim_predictions(${BATCH}, 60, 60000)`;
    if (rows.length === 0) return;
    const tasks = JSON.stringify(
      rows.map(({ task: { task, id, attempt, lease_token } }) => ({ task, id, attempt, lease_token })),
    );
    for (const status of ["processing", "succeeded"]) {
      await sql`
        select keyframe_worker.record_provider_state(t.id, t.attempt, 'run ' || t.id, ${status}, 'https://replicate.delivery/out.png', 0.5)
        from jsonb_to_recordset(${tasks}::text::jsonb) as t (task text, id uuid, attempt int)
        where t.task in ('submit', 'poll', 'search')`;
    }
    await sql`
      select case t.task
        when 'store' then keyframe_worker.complete_prediction(t.id, t.lease_token, 'out.png', 'image/png', 1000, repeat('a', 64), 1280, 720)
        when 'remove' then keyframe_worker.record_files_removed(t.lease_token) > 0 end
      from jsonb_to_recordset(${tasks}::text::jsonb) as t (task text, id uuid, lease_token uuid)`;
  }
}

/** As deliver does: what came of a batch is recorded with the claim of the next. */
async function sendDeliveries(sql: postgres.Sql, at: Date): Promise<void> {
  let results: object[] = [];
  for (;;) {
    const [row] = await sql<{ deliveries: { id: string; lease_token: string }[] }[]>`
      select keyframe_worker.exchange_deliveries(${JSON.stringify(results)}::text::jsonb, ${BATCH}, 60, 60000, ${at}) -> 'deliveries' as deliveries`;
    const deliveries = row?.deliveries ?? [];
    if (deliveries.length === 0) return;
    results = deliveries.map(({ id, lease_token }, index) => ({
      ...{ id, lease_token, started_at: at, duration_ms: 12 },
      status_code: index % (1 / FAILING) === 0 ? 500 : 200,
    }));
  }
}

async function checkMinute(sql: postgres.Sql, projects: string[], predictions: number): Promise<void> {
  const [row] = await sql<{ stored: number; due: number }[]>`
    select (select count(*)::int from keyframe.predictions p where p.project_id = any (${projects}) and p.status = 'succeeded') as stored,
      (select count(*)::int from keyframe.webhook_deliveries d join keyframe.webhook_endpoints e on e.id = d.endpoint_id
       where d.status = 'pending' and d.attempts = 0 and e.enabled) as due`;
  if (row?.stored !== predictions || row.due !== 0)
    throw new Error(
      `The churn left ${predictions - (row?.stored ?? 0)} predictions undone and ${row?.due} deliveries unsent.`,
    );
}
