import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { clearPredictions, emptyTables } from "../../support/database/empty-tables.ts";
import { claim, providerSays, readRow, sweepAndClaim } from "../../support/database/calls.ts";
import {
  addWorld,
  columnOf,
  type Row,
  type Status,
  seedPrediction,
  useWorld,
} from "../../support/database/predictions.ts";

const db = useDatabase("shipped limits");
const world = useWorld(db);
beforeEach(() => clearPredictions(db.sql));

const past = () => new Date(Date.now() - 1_000);

const seed = (status: Status, columns: Row = {}) => seedPrediction(db.sql, world, { status, columns });

test("a sweep while another sweep's transaction is open → waits for nothing, and does everything", async () => {
  const [other, { id }] = [await addWorld(db), await seed("queued", { deadline_at: past() })];
  await db.sql.begin(async (sql) => {
    await sql`select keyframe_private.sweep()`;
    const later = await seedPrediction(db.sql, other, { columns: { deadline_at: past() } });
    await sweepAndClaim(db.sql);
    for (const each of [id, later.id]) expect((await readRow(db.sql, each)).status).toBe("failed");
  });
});

test("more predictions past their deadline than a sweep takes → the longest overdue first, the rest next; each once", async () => {
  const ids: string[] = [];
  for (const seconds of [30, 20, 10]) {
    ids.push((await seed("queued", { deadline_at: new Date(Date.now() - seconds * 1000) })).id);
  }
  const expiring = async () => {
    await db.sql`select keyframe_private.sweep(2)`;
    return await columnOf(db.sql`select subject from keyframe_private.work where kind = 'expire' order by id`);
  };
  expect(await expiring()).toEqual(ids.slice(0, 2));
  expect(await expiring()).toEqual(ids);
  expect(await expiring()).toEqual(ids);
});

test.each(["queued", "processing", "storing"] as const)(
  "a %s prediction without work, as after a restore → the sweep adds the work after a minute",
  async (status) => {
    const { id } = await seed(status, { updated_at: new Date(Date.now() - 61_000) });
    await db.sql`delete from keyframe_private.work`;
    for (let sweeps = 0; sweeps < 2; sweeps++) await db.sql`select keyframe_private.sweep()`;
    const task = { queued: "submit", processing: "poll", storing: "store" }[status];
    expect((await claim(db.sql)).map((each) => [each.id, each.task])).toEqual([[id, task]]);
  },
);

test("a search, a cancel and a removal without work, as after a restore → the hourly job adds the work, once", async () => {
  await seed("processing"); // its run is not canceled
  const searched = await seedPrediction(db.sql, world, { columns: { due_at: past() }, unanswered: past() });
  await db.sql`select keyframe_private.mark_canceled(${searched.id})`;
  const canceled = await seed("canceled");
  await providerSays(db.sql, { id: canceled.id, run: "run-late" });
  await db.sql`insert into keyframe_private.file_removals (bucket, name, owner_id) values ('projects', 'gone.png', ${world.owner})`;
  await db.sql`delete from keyframe_private.work`;
  for (let hours = 0; hours < 2; hours++) await db.sql`select keyframe_private.add_other_lost_work()`;
  const work =
    await db.sql`select kind, subject, submit_id is not null as of_submit from keyframe_private.work order by kind`;
  expect(work).toEqual([
    { kind: "cancel", subject: canceled.id, of_submit: true },
    { kind: "remove", subject: world.owner, of_submit: false },
    { kind: "search", subject: searched.id, of_submit: true },
  ]);
});

describe("prune", () => {
  /** What the job does. */
  const run = async (job: string) => {
    const [command = ""] = await columnOf(db.sql`select command from cron.job where jobname = ${job}`);
    await db.sql.unsafe(command);
  };

  describe("buckets of the rate limits", () => {
    const pruneRates = async () => {
      await run("keyframe-prune-rates");
      return await columnOf(db.sql`select route_class from keyframe_private.rate_buckets order by 1`);
    };
    beforeEach(() => emptyTables(db.sql, "keyframe_private.rate_buckets"));

    test("a rate bucket unused for a day → deleted: it is full again", async () => {
      await db.sql`
        insert into keyframe_private.rate_buckets (owner_id, route_class, tokens, refilled_at) values
          (${world.owner}, 'create', -60, now() - interval '25 hours'), (${world.owner}, 'upload', 30, now() - interval '23 hours')`;
      expect(await pruneRates()).toEqual(["upload"]);
    });

    test("a rate bucket refilled over a week → stays until it is full, so that deletion gives nobody extra tokens", async () => {
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

  test("the command of each job → begins with a time limit", async () => {
    const commands = await columnOf(db.sql`select command from keyframe_private.jobs()`);
    expect(commands.filter((command) => !/^set statement_timeout = '(20s|2min)'; /.test(command))).toEqual([]);
  });

  test("cron's records of our jobs, a day old or failed without an end → deleted; younger ones, and an app's, stay", async () => {
    const [job] = await db.sql<{ jobid: string; username: string }[]>`
      select jobid, username from cron.job where jobname = 'keyframe-prune-cron'`;
    const [own] = await db.sql<{ jobid: string }[]>`select cron.schedule('nightly', '0 3 * * *', 'select 1') as jobid`;
    const [name, ours, theirs] = [job?.username ?? "", job?.jobid ?? "", own?.jobid ?? ""];
    await db.sql`
      insert into cron.job_run_details (jobid, runid, username, command, status, end_time) values
        (${ours}, 900001, ${name}, 'old', 'succeeded', now() - interval '25 hours'),
        (${ours}, 900002, ${name}, 'young', 'succeeded', now() - interval '23 hours'),
        (${ours}, 900003, ${name}, 'ended by a restart', 'failed', null),
        (${ours}, 900004, ${name}, 'running', 'running', null),
        (${theirs}, 900005, ${name}, 'the app''s', 'succeeded', now() - interval '25 hours')`;
    await run("keyframe-prune-cron");
    const kept = await columnOf(db.sql`select command from cron.job_run_details where runid > 900000 order by runid`);
    await db.sql`select cron.unschedule('nightly')`;
    expect(kept).toEqual(["young", "running", "the app's"]);
  });
});
