import { beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { fillVault } from "../../../local/stack/apply-migrations.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { claim, makeDue, makeSearchesDue, providerSays, readRow, sweepAndClaim } from "../../support/database/calls.ts";
import { addWorld, useWorld, type Row, type Status, seedPrediction } from "../../support/database/predictions.ts";

const db = useDatabase("shipped limits");
const world = useWorld(db);
beforeAll(async () => {
  await fillVault(db.sql, {
    keyframe_functions_url: "http://127.0.0.1:9/functions/v1",
    keyframe_kick_secret: inject("stack").kickSecret,
  });
});
beforeEach(async () => {
  await emptyTables(
    db.sql,
    "keyframe.predictions, keyframe_private.prediction_images, keyframe_private.worker_heartbeats, keyframe_private.provider_submits, keyframe_private.file_removals",
  );
  await emptyTables(db.sql, "net.http_request_queue");
});

const soon = () => new Date(Date.now() + 60_000);
const past = () => new Date(Date.now() - 1_000);

const seed = (status: Status, columns: Row = {}) => seedPrediction(db.sql, world, { status, columns });
async function kicksOfSweep(): Promise<number> {
  await db.sql`select keyframe_private.sweep()`;
  return (await db.sql`select from net.http_request_queue`).length;
}

describe("the sweep kicks when something is due", () => {
  const unanswered = () => seedPrediction(db.sql, world, { columns: { due_at: soon() }, unanswered: past() });
  const DUE: [string, () => Promise<unknown>][] = [
    ["a queued prediction whose back-off has passed", () => seed("queued", { lease_token: null })],
    ["a run without a callback", () => seed("processing", { lease_token: null })],
    ["a lease that ran out", () => seed("storing")],
    ["a run to cancel", async () => await providerSays(db.sql, { id: (await seed("canceled")).id, run: "run-late" })],
    [
      "a canceled prediction whose submit is unanswered",
      async () => {
        const { id } = await unanswered();
        await db.sql`select keyframe_private.mark_canceled(${id})`;
        expect(await kicksOfSweep()).toBe(0); // a worker may still be submitting it
        await makeSearchesDue(db.sql);
      },
    ],
    [
      "a file to remove",
      async () => {
        const { id } = await seed("storing", { due_at: soon() });
        await db.sql`delete from keyframe.predictions where id = ${id}`;
        expect(await kicksOfSweep()).toBe(0); // it may still be written
        await makeDue(db.sql, id);
      },
    ],
  ];
  test.each(DUE)("%s → one kick", async (_name, makeDue) => {
    await makeDue();
    await emptyTables(db.sql, "net.http_request_queue, keyframe_private.kicks"); // what made it due has kicked a moment ago
    expect(await kicksOfSweep()).toBe(1);
  });

  const NOT_DUE: [string, Status, Row, number?][] = [
    ["a function whose heartbeat is live", "queued", {}, 60_000],
    ["nothing is due yet", "queued", { due_at: soon() }],
    ["a lease holds", "storing", { due_at: soon() }],
    ["one waits in line behind four that run", "queued", { admitted_at: null, deadline_at: null, lease_token: null }],
    ["all has ended", "succeeded", {}],
  ];
  test.each(NOT_DUE)("%s → none", async (_name, status, columns, heartbeatMs = 0) => {
    await claim(db.sql, 1, 60, heartbeatMs);
    for (let i = 0; i < 4; i++) await seed("processing", { due_at: soon() });
    await seed(status, columns);
    expect(await kicksOfSweep()).toBe(0);
  });

  test("another sweep is still at it, or was left open → this one waits for nothing, and does all", async () => {
    const [other, { id }] = [await addWorld(db), await seed("queued", { deadline_at: past() })];
    await db.sql.begin(async (sql) => {
      await sql`select keyframe_private.sweep()`;
      const later = await seedPrediction(db.sql, other, { columns: { deadline_at: past() } });
      await sweepAndClaim(db.sql);
      for (const each of [id, later.id]) expect((await readRow(db.sql, each)).status).toBe("failed");
    });
  });
});

test("what is past its deadline, more than one sweep takes on → the longest overdue first, the rest next time; each once", async () => {
  const ids: string[] = [];
  for (const seconds of [30, 20, 10]) {
    ids.push((await seed("queued", { deadline_at: new Date(Date.now() - seconds * 1000) })).id);
  }
  const expiring = async () => {
    await db.sql`select keyframe_private.add_overdue(2)`;
    return (await db.sql`select subject from keyframe_private.work where kind = 'expire' order by id`).map(
      ({ subject }) => subject,
    );
  };
  expect(await expiring()).toEqual(ids.slice(0, 2));
  expect(await expiring()).toEqual(ids);
  expect(await expiring()).toEqual(ids);
});

test.each(["queued", "processing", "storing"] as const)(
  "a %s prediction has lost its work, as in a restore → after a minute the sweep adds it",
  async (status) => {
    const { id } = await seed(status, { updated_at: new Date(Date.now() - 61_000) });
    await db.sql`delete from keyframe_private.work`;
    for (let sweeps = 0; sweeps < 2; sweeps++) await db.sql`select keyframe_private.sweep()`;
    const task = { queued: "submit", processing: "poll", storing: "store" }[status];
    expect((await claim(db.sql)).map((each) => [each.id, each.task])).toEqual([[id, task]]);
  },
);

test("the search, the cancel and the removal have lost their work, as in a restore → the hourly job adds it, once", async () => {
  const searched = await seedPrediction(db.sql, world, { columns: { due_at: past() }, unanswered: past() });
  await db.sql`select keyframe_private.mark_canceled(${searched.id})`;
  const canceled = await seed("canceled");
  await providerSays(db.sql, { id: canceled.id, run: "run-late" });
  await db.sql`insert into keyframe_private.file_removals (bucket, name, owner_id) values ('projects', 'gone.png', ${world.owner})`;
  await db.sql`delete from keyframe_private.work`;
  for (let hours = 0; hours < 2; hours++) await db.sql`select keyframe_private.add_lost_work()`;
  const work =
    await db.sql`select kind, subject, submit_id is not null as of_submit from keyframe_private.work order by kind`;
  expect(work).toEqual([
    { kind: "cancel", subject: canceled.id, of_submit: true },
    { kind: "remove", subject: world.owner, of_submit: false },
    { kind: "search", subject: searched.id, of_submit: true },
  ]);
});

describe("prune", () => {
  const left = async (query: string) => (await db.sql.unsafe<{ name: string }[]>(query)).map(({ name }) => name).sort();

  describe("buckets of the rate limits", () => {
    const pruneRates = async () => {
      const [job] = await db.sql<
        { command: string }[]
      >`select command from cron.job where jobname = 'keyframe-prune-rates'`;
      await db.sql.unsafe(job?.command ?? "");
      return await left("select route_class as name from keyframe_private.rate_buckets");
    };
    beforeEach(() => emptyTables(db.sql, "keyframe_private.rate_buckets"));

    test("unused for a day → deleted: they are full again", async () => {
      await db.sql`
        insert into keyframe_private.rate_buckets (owner_id, route_class, tokens, refilled_at) values
          (${world.owner}, 'create', -60, now() - interval '25 hours'), (${world.owner}, 'upload', 30, now() - interval '23 hours')`;
      expect(await pruneRates()).toEqual(["upload"]);
    });

    test("ten a week, all spent → stays until it is full, so that nobody gets a week's worth after a day", async () => {
      await db.sql`insert into keyframe_private.rate_limits (route_class, capacity, per_second) values ('slow', 10, 10 / 604800.0)`;
      const spend = (tokens: number, hoursAgo: number) => db.sql`
        insert into keyframe_private.rate_buckets (owner_id, route_class, tokens, refilled_at)
        values (${world.owner}, 'slow', ${tokens}, now() - interval '1 hour' * ${hoursAgo}::int)
        on conflict (owner_id, route_class) do update set tokens = excluded.tokens, refilled_at = excluded.refilled_at`;
      for (const [tokens, full] of [
        [0, 168],
        [5, 84],
        [-10, 336],
      ] as const) {
        await spend(tokens, full - 1);
        expect(await pruneRates(), `${tokens} left`).toEqual(["slow"]);
        await spend(tokens, full + 1);
        expect(await pruneRates(), `${tokens} left`).toEqual([]);
      }
      await spend(0, 25);
      await db.sql`delete from keyframe_private.rate_limits where route_class = 'slow'`;
      expect(await pruneRates()).toEqual([]);
    });
  });

  test("cron's records of our jobs of more than a day → deleted; younger ones, and those of the app's jobs, kept", async () => {
    const [job] = await db.sql<{ jobid: string; username: string; command: string }[]>`
      select jobid, username, command from cron.job where jobname = 'keyframe-prune-cron'`;
    const [own] = await db.sql<{ jobid: string }[]>`select cron.schedule('nightly', '0 3 * * *', 'select 1') as jobid`;
    const [name, ours, theirs] = [job?.username ?? "", job?.jobid ?? "", own?.jobid ?? ""];
    await db.sql`
      insert into cron.job_run_details (jobid, runid, username, command, status, end_time) values
        (${ours}, 900001, ${name}, 'old', 'succeeded', now() - interval '25 hours'),
        (${ours}, 900002, ${name}, 'young', 'succeeded', now() - interval '23 hours'),
        (${theirs}, 900003, ${name}, 'the app''s', 'succeeded', now() - interval '25 hours')`;
    await db.sql.unsafe(job?.command ?? "");
    const kept = await left("select command as name from cron.job_run_details where runid > 900000 order by runid");
    await db.sql`select cron.unschedule('nightly')`;
    expect(kept.sort()).toEqual(["the app's", "young"]);
  });
});
