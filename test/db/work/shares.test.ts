import type postgres from "postgres";
import { beforeEach, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addEndpoint, clearWebhooks, exchange, seedDeliveries } from "../../support/database/webhooks.ts";

const db = useDatabase();
beforeEach(() => clearWebhooks(db.sql));
const PLACES = 440;

// The table above limit_for_next_row (supabase/schemas/15_queue/20_leases.sql).
test.each([
  ["nothing", { total: 0, unproven: 0 }, false, 352, 176],
  ["176 rows of one quick host", { total: 176, unproven: 0 }, false, 176, 88],
  ["200 unproven rows", { total: 200, unproven: 200 }, false, 196, 98],
  ["430 rows", { total: 430, unproven: 0 }, false, 10 / 6, 2],
  ["nothing, for an unproven host", { total: 0, unproven: 0 }, true, 176, 88],
])(
  "others have leased %s → a host may have the limit less its own rows, and ends there",
  async (_what, others, isUnproven, limit, end) => {
    const limitWith = async (own: number) => {
      const unproven = others.unproven + (isUnproven ? own : 0);
      const [row] = await db.sql<{ limit: number }[]>`
      select keyframe_private.limit_for_next_row(${PLACES}, ${isUnproven}, ${others.total + own}, ${unproven})::float as limit`;
      return row?.limit ?? Number.NaN;
    };
    expect(await limitWith(0)).toBeCloseTo(limit);
    let own = 0;
    while (own < (await limitWith(own))) own += 1;
    expect(own).toBe(end);
  },
);

/** Scans of the queue's indexes by this connection. */
async function scansOf(sql: postgres.TransactionSql): Promise<number> {
  const [row] = await sql<{ scans: number }[]>`
    select idx_scan::int as scans from pg_stat_xact_user_tables where relid = 'keyframe_private.work'::regclass`;
  return row?.scans ?? Number.NaN;
}

test("10,000 new hosts wait, and others have their half → a claim looks at 400, and 26 claims reach all quick ones", async () => {
  const worker = crypto.randomUUID();
  await db.sql`
    insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, is_unproven, state, due_at, worker_id, lease_token)
    select 'deliver', 'deliver', lane, lane, lane, 'host-' || i || '.example new', true,
      case when i <= ${PLACES / 2} then 'leased' else 'ready' end::keyframe_private.work_state, now() + interval '1 minute',
      case when i <= ${PLACES / 2} then ${worker}::uuid end, case when i <= ${PLACES / 2} then ${worker}::uuid end
    from (select gen_random_uuid() as lane, i from generate_series(1, ${PLACES / 2 + 10_000}::int) i) l`;
  const waiting = new Set<string>();
  for (const host of ["a-host", "host-5", "the-host"]) {
    const endpoint = await addEndpoint(db.sql, null, { url: `https://${host}.example/hook`, standing: "quick" });
    for (const id of await seedDeliveries(db.sql, endpoint, 1)) waiting.add(id);
  }
  let cursors: unknown = {};
  let claims = 0;
  for (; waiting.size > 0 && claims < 50; claims++) {
    const { answer, probes } = await db.sql.begin(async (sql) => {
      const before = await scansOf(sql);
      const answer = await exchange(sql, { worker, cursors, maxRows: PLACES });
      return { answer, probes: (await scansOf(sql)) - before };
    });
    expect(probes).toBeLessThan(500);
    expect(answer.more).toBe(true);
    cursors = answer.cursors;
    for (const { id } of answer.deliveries) waiting.delete(id);
  }
  expect(waiting.size).toBe(0);
  expect(claims).toBeLessThanOrEqual(26);
});

test("20 endpoints at one host have 100 deliveries each → a claim locks no more rows than the host may have leased", async () => {
  for (let owner = 0; owner < 20; owner++) {
    const endpoint = await addEndpoint(db.sql, await db.addUser(), {
      url: "https://one-host.example/hook",
      standing: "quick",
    });
    await seedDeliveries(db.sql, endpoint, 100);
  }
  await db.sql.begin(async (sql) => {
    const { deliveries } = await exchange(sql, { maxRows: PLACES });
    const unlocked = await db.sql`select from keyframe_private.work where lane in (
      select e.id from keyframe.webhook_endpoints e where e.url like 'https://one-host%') for update skip locked`;
    expect(deliveries).toHaveLength(176);
    expect(unlocked).toHaveLength(2_000 - 180); // nine of each of the twenty lanes
  });
});
