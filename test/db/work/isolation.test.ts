import type postgres from "postgres";
import { beforeEach, describe, expect, test } from "vitest";
import { createLog } from "../../../shared/platform/log.ts";
import { createDatabase, type Deps } from "../../../supabase/functions/keyframe-generate/tasks/database.ts";
import { runTask } from "../../../supabase/functions/keyframe-generate/tasks/run-task.ts";
import { createDirectDatabase } from "../../../worker/direct-database.ts";
import {
  begin,
  callWorker,
  claim,
  claimOnly,
  makeDue,
  providerSays,
  submitsOf,
  type Task,
} from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { clearPredictions } from "../../support/database/empty-tables.ts";
import { withFailing } from "../../support/database/failing.ts";
import { plansOf, readBy } from "../../support/database/plans.ts";
import { addWorld, seedCopies, seedPrediction, type World } from "../../support/database/predictions.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";

// One owner's transaction, trigger, crowd or dead worker delays no other owner's claim, and submits no prediction twice. Of deliver:
// test/db/webhooks/isolation.

const db = useDatabase();
let bad: World;
let good: World;
beforeEach(async () => {
  await clearPredictions(db.sql);
  [bad, good] = [await addWorld(db), await addWorld(db)];
});

type Sql = postgres.Sql | postgres.TransactionSql;
const NEW = { columns: { attempt: 0, lease_token: null } };
const seedNew = async (world: World) => (await seedPrediction(db.sql, world, NEW)).id;
const idsOf = (tasks: Task[]) => tasks.map(({ id }) => id).toSorted();

const claimTasks = async (sql: Sql, worker: string, cursors: object = {}) =>
  await callWorker<{ tasks: Task[]; cursors: object }>(sql, "claim_tasks", {
    ...{ worker_id: worker, max_rows: 10, poll_seconds: 0, cursors },
  });

test("a submit's lease expires after its run failed and while the next submit is under way → no third submit is added", async () => {
  const id = await seedNew(bad);
  const [first] = await claim(db.sql);
  const unreachable = { status: "failed", failure: "input_unreachable" } as const;
  expect(await providerSays(db.sql, { id, run: "run-1", ...unreachable })).toBe("recorded");
  await db.sql`update keyframe_private.work set due_at = now() where subject = ${id} and state = 'scheduled'`;
  expect(await claim(db.sql)).toMatchObject([{ task: "submit", attempt: 2 }]);
  await db.sql`update keyframe_private.work set due_at = now() where id = ${Number(first?.work_id)}`;
  expect(await claim(db.sql)).toEqual([]);
  expect(await submitsOf(db.sql, id)).toHaveLength(2);
});

test("the run of an expired submit fails while the next submit waits → no third submit is added", async () => {
  const id = await seedNew(bad);
  await claim(db.sql);
  await makeDue(db.sql, id);
  for (const expired of await claimOnly(db.sql)) expect(await begin(db.sql, expired)).toBeNull(); // it adds the second
  expect(await providerSays(db.sql, { id, run: `run-${id}`, status: "failed", failure: "interrupted" })).toBe(
    "recorded",
  );
  expect(await submitsOf(db.sql, id)).toHaveLength(2);
});

describe("an app's trigger on predictions", () => {
  /** A worker does a task by a connection of its own; a call may take a second. */
  const workOn = async (task: Task) => {
    const { call, end } = createDirectDatabase({ url: new URL(db.url), connections: 1, statementMs: 1_000, timeoutMs: 10_000 }); // biome-ignore format: one line
    const deps = { database: createDatabase(call, call, null), log: createLog({}, () => undefined) } as Deps; // it comes no further
    await runTask(task, deps, new AbortController().signal).catch(() => undefined);
    await end();
  };
  const CAUSES = [
    ["raises", "raise 'It cannot be written.'", "P0001"],
    ["fails an assertion", "assert false, 'It is not right.'", "P0004"],
    ["sleeps for longer than a call may take", "perform pg_sleep(60)", "57014"],
  ] as const;
  test.each(CAUSES)(
    "%s → the others are claimed and begun; the prediction is tried again ever later, with the error's code, and ends",
    async (_what, does, code) => {
      const id = await seedNew(bad);
      const others = [await seedNew(good)];
      await seedCopies(db.sql, others[0] ?? "", 4);
      const delays: number[] = [];
      await withFailing(
        db.sql,
        "keyframe.predictions",
        `new.id = '${id}'`,
        async () => {
          for (let failures = 1; failures <= 3; failures++) {
            const tasks = await claimOnly(db.sql, 10);
            const task = tasks.find((each) => each.id === id);
            if (failures === 1) {
              expect(tasks).toHaveLength(6);
              for (const other of tasks) if (other.id !== id) expect(await begin(db.sql, other)).toMatchObject({ attempt: 1 }); // biome-ignore format: one line
            }
            if (task) await workOn(task);
            const [row] = await db.sql`
            select failures, last_error, state, extract(epoch from due_at - now())::float8 as delay from keyframe_private.work where subject = ${id}`;
            expect(row).toMatchObject({ failures, last_error: code, state: "scheduled" });
            delays.push(row?.delay);
            await makeDue(db.sql, id);
          }
        },
        does,
      );
      expect(delays).toEqual(delays.toSorted((one, next) => one - next));
      expect(await claim(db.sql)).toMatchObject([{ id, task: "submit", attempt: 1 }]);
    },
  );
});

describe("a crowd of owners or tasks", () => {
  /** Ready submits of a model, each of a lane of its own or all of one. Nothing of them is read but their work. */
  const addCrowd = (count: number, model: string, owner: string | null, lease: string | null = null) => db.sql`
    insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, state, due_at, worker_id, lease_token)
    select 'ask', 'submit', gen_random_uuid(), o.id, o.id, ${model}, ${lease === null ? "ready" : "leased"}, now() + interval '1 minute', ${lease}, ${lease}
    from generate_series(1, ${count}::int) i
    cross join lateral (select coalesce(${owner}::uuid, ('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid) as id) o`;
  const readsOf = async (work: (sql: postgres.Sql) => Promise<unknown>) =>
    await plansOf(db.url, (sql) => rolledBack(sql, async (open) => void (await work(open as unknown as postgres.Sql))));

  test("100,000 ready tasks of one owner → each of twenty other owners is claimed within three claims, few rows are read", async () => {
    await addCrowd(100_000, "google/nano-banana", bad.owner);
    const others: string[] = [];
    for (let owner = 0; owner < 20; owner++) others.push(await seedNew(await addWorld(db)));
    await db.sql`analyze keyframe_private.work`;
    let tasks: Task[] = [];
    const plans = await readsOf(async (sql) => {
      const worker = crypto.randomUUID();
      let cursors = {};
      for (let claims = 0; claims < 3; claims++) {
        const claimed = await claimTasks(sql, worker, cursors);
        tasks = [...tasks, ...claimed.tasks];
        cursors = claimed.cursors;
      }
    });
    expect(idsOf(tasks.filter(({ owner_id }) => owner_id !== bad.owner))).toEqual(others.toSorted());
    expect(Math.max(...plans.map((plan) => readBy(plan).rows))).toBeLessThan(150);
  });

  test("20,000 owners wait for a model at its limit → one probe passes them, and another model's task is claimed", async () => {
    const worker = crypto.randomUUID();
    await addCrowd(38, "bad/model", null, worker);
    await addCrowd(20_000, "bad/model", null);
    const id = await seedNew(good);
    await db.sql`analyze keyframe_private.work`;
    let tasks: Task[] = [];
    const plans = await readsOf(async (sql) => {
      tasks = (await claimTasks(sql, worker)).tasks;
    });
    expect(idsOf(tasks)).toEqual([id]);
    const probes = plans.filter((plan) => plan.includes("order by w.resource, w.lane limit 1"));
    expect(probes.length).toBeGreaterThan(0);
    expect(probes.length).toBeLessThanOrEqual(6); // the full one, the other one, and the ends of both queues
    expect(Math.max(...plans.map((plan) => readBy(plan).rows))).toBeLessThan(150);
  });
});
