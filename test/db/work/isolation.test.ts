import postgres from "postgres";
import { beforeEach, describe, expect, test } from "vitest";
import { createLog } from "../../../shared/platform/log.ts";
import { createDatabase, type Deps } from "../../../supabase/functions/keyframe-generate/tasks/database.ts";
import { work } from "../../../supabase/functions/keyframe-generate/tasks/work.ts";
import { createDirectDatabase } from "../../../worker/direct-database.ts";
import {
  begin,
  callWorker,
  claim,
  claimOnly,
  complete,
  makeDue,
  providerSays,
  readRow,
  runsToCancel,
  submitsOf,
  type Task,
  workOf,
} from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
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
  await emptyTables(
    db.sql,
    "keyframe.predictions, keyframe_private.prediction_images, keyframe_private.provider_submits, keyframe_private.file_removals",
  );
  [bad, good] = [await addWorld(db), await addWorld(db)];
});

type Sql = postgres.Sql | postgres.TransactionSql;
const NEW = { columns: { attempt: 0, lease_token: null } };
const seedNew = async (world: World) => (await seedPrediction(db.sql, world, NEW)).id;
const idsOf = (tasks: Task[]) => tasks.map(({ id }) => id).toSorted();

/** The provider: its runs, and the prediction and attempt that each names. */
const makeProvider = () => new Map<string, { id: string; attempt: number }>();
type Provider = ReturnType<typeof makeProvider>;
type Call = <T>(name: string, run: (sql: Sql) => Promise<T>) => Promise<T>;

/** Does a task as generate does it. Each call of the database goes through `call`. */
async function perform(claimed: Task, provider: Provider, call: Call): Promise<void> {
  const task = claimed.task === "submit" ? await call("begin_submit", (sql) => begin(sql, claimed)) : claimed;
  if (task === null) return;
  const { id, lease_token: lease, attempt } = task;
  const lease_of = { work_id: task.work_id, lease_token: lease };
  const record = (saying: Partial<Parameters<typeof providerSays>[1]> & { run: string }) =>
    call("record_provider_state", (sql) => providerSays(sql, { id, attempt, lease, status: "starting", ...saying }));
  if (task.task === "submit") {
    const found = [...provider].find(([, run]) => run.id === id && run.attempt === task.search_attempt)?.[0];
    if (found) return void (await record({ run: found, foundBy: "name", attempt: Number(task.search_attempt), attemptWithoutRun: attempt })); // biome-ignore format: one line
    if (task.search_attempt !== null)
      await call(
        "record_search_ended",
        (sql) =>
        callWorker(sql, "record_search_ended", { prediction_id: id, first_attempt: task.search_attempt, last_attempt: attempt - 1, is_unproven: false }), // biome-ignore format: one line
      );
    const run = `run-${id}-${attempt}`;
    provider.set(run, { id, attempt });
    await record({ run });
  } else if (task.task === "poll") {
    await record({ run: String(task.provider_prediction_id), status: "succeeded" });
  } else if (task.task === "store") {
    await call("complete_prediction", (sql) => complete(sql, id, lease));
  } else if (task.task === "cancel") {
    await record({ run: String(task.provider_prediction_id), status: "canceled" });
  } else if (task.task === "search") {
    const runs = [...provider].filter(([, run]) => run.id === id && run.attempt === attempt);
    for (const [run] of runs) await call("record_provider_state", (sql) => providerSays(sql, { id, attempt, run, foundBy: "name", status: "processing" })); // biome-ignore format: one line
    await call(
      "record_search_ended",
      (sql) =>
      callWorker(sql, "record_search_ended", { prediction_id: id, first_attempt: attempt, last_attempt: attempt, is_unproven: false, ...lease_of }), // biome-ignore format: one line
    );
  } else {
    await call(task.task, (sql) => begin(sql, task));
  }
}

const claimTasks = async (sql: Sql, worker: string, cursors: object = {}) =>
  await callWorker<{ tasks: Task[]; cursors: object }>(sql, "claim_tasks", {
    ...{ worker, max_rows: 10, lease_seconds: 60, poll_seconds: 0, cursors },
  });

/** One claim of a worker, and what it does of it. */
async function round(provider: Provider, call: Call, worker = crypto.randomUUID()): Promise<number> {
  const { tasks } = await call("claim_tasks", (sql) => claimTasks(sql, worker));
  for (const task of tasks) await perform(task, provider, call);
  return tasks.length;
}
const usual: Call = (_name, run) => run(db.sql);

/** A worker goes on, while time passes, until nothing is left to do of a prediction. */
async function finish(id: string, provider: Provider): Promise<void> {
  for (let rounds = 0; rounds < 30 && (await workOf(db.sql, id)).length > 0; rounds++) {
    await makeDue(db.sql, id);
    await round(provider, usual);
    const waiting = (await submitsOf(db.sql, id)).filter((submit) => !submit.submitted_at && !submit.ended_at);
    expect(waiting.length).toBeLessThanOrEqual(1);
  }
  expect(await workOf(db.sql, id)).toEqual([]);
}

/** It has succeeded, and nothing else goes on at the provider or is held of a budget. */
async function expectDone(id: string): Promise<void> {
  expect(await readRow(db.sql, id)).toMatchObject({ status: "succeeded" });
  const submits = await submitsOf(db.sql, id);
  expect(submits.filter(({ outcome }) => outcome === "succeeded")).toHaveLength(1);
  expect(submits.filter(({ ended_at }) => ended_at === null)).toEqual([]);
}

class Killed extends Error {}
const CALLS = ["claim_tasks", "begin_submit", "record_provider_state", "complete_prediction"];

describe("a worker's connection is terminated", () => {
  test.each(CALLS.flatMap((name) => ["before", "during", "after"].map((moment) => [moment, name] as const)))(
    "%s %s → another worker finishes the frame, with one run at the provider",
    async (moment, killedAt) => {
      const [id, provider] = [await seedNew(bad), makeProvider()];
      const connection = postgres(db.url, { max: 1, onnotice: () => undefined });
      const [session] = await connection`select pg_backend_pid() as pid`;
      const kill = () => db.sql`select pg_terminate_backend(${session?.pid}, 10000)`;
      const call: Call = async (name, run) => {
        if (name !== killedAt) return await run(connection);
        if (moment === "before") await kill();
        if (moment === "after") await run(connection).then(kill);
        if (moment === "during") await connection.begin((open) => run(open).then(kill)).catch(() => undefined);
        throw new Killed();
      };
      const dies = async () => {
        for (let rounds = 0; rounds < 10; rounds++) {
          await makeDue(db.sql, id);
          await round(provider, call);
        }
      };
      await expect(dies()).rejects.toThrow(Killed);
      await connection.end({ timeout: 1 }).catch(() => undefined);
      await finish(id, provider);
      await expectDone(id);
      expect(provider.size).toBe(1);
    },
  );
});

describe("a worker is slow, and its lease expires", () => {
  /** The slow worker stops before its call until another has finished. */
  test.each([
    ["begin_submit", 1],
    ["record_provider_state", 1],
    ["complete_prediction", 1],
  ])(
    "before %s, another finishes, and the slow one goes on → %i run, and nothing is done twice",
    async (name, runs) => {
      const [id, provider] = [await seedNew(bad), makeProvider()];
      let isFinished = false;
      const call: Call = async (called, run) => {
        if (called === name && !isFinished) {
          isFinished = true;
          await finish(id, provider);
        }
        return await run(db.sql);
      };
      for (let rounds = 0; rounds < 10 && !isFinished; rounds++) {
        await makeDue(db.sql, id);
        await round(provider, call);
      }
      await finish(id, provider);
      await expectDone(id);
      expect(provider.size).toBe(runs);
    },
  );

  test("between begin_submit and the create → its run is canceled, for the other's is followed", async () => {
    const [id, provider] = [await seedNew(bad), makeProvider()];
    const slow = (await claim(db.sql)).find((task) => task.id === id);
    await finish(id, provider);
    await expectDone(id);
    provider.set("run-slow", { id, attempt: 1 });
    expect(await providerSays(db.sql, { id, run: "run-slow", status: "starting", lease: slow?.lease_token ?? "" })).toBe("ended"); // biome-ignore format: one line
    expect(await runsToCancel(db.sql)).toEqual(["run-slow"]);
    await finish(id, provider);
    expect(await submitsOf(db.sql, id)).toMatchObject([{ outcome: "no_run" }, { outcome: "canceled" }, { outcome: "succeeded" }]); // biome-ignore format: one line
  });

  test("after its run has failed and the next submit is under way → no third submit is added", async () => {
    const id = await seedNew(bad);
    const [first] = await claim(db.sql);
    const unreachable = { status: "failed", failure: "input_unreachable" } as const;
    expect(await providerSays(db.sql, { id, run: "run-1", ...unreachable })).toBe("recorded");
    expect(await providerSays(db.sql, { id, run: "run-1", status: "starting", lease: first?.lease_token ?? "" })).toBe("given_up"); // biome-ignore format: one line
    await db.sql`update keyframe_private.work set due_at = now() where subject = ${id} and state = 'scheduled'`;
    expect(await claim(db.sql)).toMatchObject([{ task: "submit", attempt: 2 }]);
    await db.sql`update keyframe_private.work set due_at = now() where subject = ${id} and lease_token = ${first?.lease_token ?? ""}`;
    expect(await claim(db.sql)).toEqual([]);
    expect(await submitsOf(db.sql, id)).toHaveLength(2);
  });

  test.each([
    ["poll", "processing"],
    ["store", "storing"],
  ] as const)("two workers hold a %s of one prediction → the result of one counts", async (kind, status) => {
    const { id, run } = await seedPrediction(db.sql, bad, {
      status,
      columns: { lease_token: null, updated_at: new Date(Date.now() - 60_000) },
    });
    const [first] = await claim(db.sql);
    await makeDue(db.sql, id);
    const [second] = await claim(db.sql);
    expect([first, second]).toMatchObject([{ task: kind }, { task: kind }]);
    const end = (task?: Task) =>
      kind === "store"
        ? complete(db.sql, id, task?.lease_token ?? null)
        : providerSays(db.sql, { id, run: run ?? "", status: "succeeded", lease: task?.lease_token ?? "" });
    expect([await end(first), await end(second)]).toEqual(kind === "store" ? [false, true] : ["recorded", "unchanged"]);
    await finish(id, makeProvider());
    await expectDone(id);
  });
});

test("three workers at once over 60 predictions of three owners → each is submitted once, and all succeed", async () => {
  const provider = makeProvider();
  const ids: string[] = [];
  for (const world of [bad, good, await addWorld(db)]) {
    const id = await seedNew(world);
    await seedCopies(db.sql, id, 19);
  }
  ids.push(...(await db.sql<{ id: string }[]>`select id from keyframe.predictions`).map(({ id }) => id));
  const isLeft = async () => (await db.sql`select from keyframe_private.work limit 1`).count > 0;
  const runWorker = async () => {
    const connection = postgres(db.url, { max: 1, onnotice: () => undefined });
    const worker = crypto.randomUUID();
    while (await isLeft()) {
      await connection`update keyframe_private.work set due_at = now() where state = 'scheduled'`;
      await round(provider, (_name, run) => run(connection), worker);
    }
    await connection.end();
  };
  await Promise.all([runWorker(), runWorker(), runWorker()]);
  expect([ids.length, provider.size]).toEqual([60, 60]);
  for (const id of ids) await expectDone(id);
});

describe("the account is deleted while a worker has its prediction", () => {
  const deleteAccount = () => db.sql`delete from auth.users where id = ${bad.owner}`;

  test("before its submit is answered → the run is canceled; nothing is left to do", async () => {
    const [id, provider] = [await seedNew(bad), makeProvider()];
    const [task] = await claim(db.sql);
    await deleteAccount();
    provider.set("run-1", { id, attempt: 1 });
    expect(await providerSays(db.sql, { id, run: "run-1", status: "starting", lease: task?.lease_token ?? "" })).toBe("ended"); // biome-ignore format: one line
    await finish(id, provider);
    expect(await submitsOf(db.sql, id)).toMatchObject([{ outcome: "canceled" }]);
  });

  test("while its output is copied → what the worker has written is removed", async () => {
    const { id } = await seedPrediction(db.sql, bad, { status: "storing", columns: { lease_token: null } });
    const [task] = await claim(db.sql);
    await deleteAccount();
    const stored = { work_id: task?.work_id, lease_token: task?.lease_token, output_path: "a", content_type: "image/png", bytes: 1, sha256: "a".repeat(64) }; // biome-ignore format: one line
    expect(await callWorker(db.sql, "complete_prediction", stored)).toBe(false);
    const [remove] = await claim(db.sql);
    expect(remove).toMatchObject({ task: "remove", id: bad.owner });
    expect(JSON.stringify(remove?.files)).toContain(`${bad.owner}/${bad.project}/${id}.png`);
  });
});

describe("an app's trigger on predictions", () => {
  /** A worker does a task by a connection of its own; a call may take a second. */
  const workOn = async (task: Task) => {
    const { call, end } = createDirectDatabase({ url: new URL(db.url), connections: 1, statementMs: 1_000, timeoutMs: 10_000 }); // biome-ignore format: one line
    const deps = { database: createDatabase(call, call, null), log: createLog({}, () => undefined) } as Deps; // it comes no further
    await work(task, deps, new AbortController().signal).catch(() => undefined);
    await end();
  };
  const CAUSES = [
    ["raises", "raise 'It cannot be written.'", "P0001"],
    ["fails an assertion", "assert false, 'It is not right.'", "P0004"],
    ["sleeps for longer than a call may take", "perform pg_sleep(60)", "57014"],
  ] as const;
  test.each(CAUSES)(
    "%s → the others are claimed and begun; it is tried again later each time, with its code, and ends",
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
      const provider = makeProvider();
      await finish(id, provider);
      await expectDone(id);
      expect(provider.size).toBe(1);
    },
  );
});

describe("an open transaction holds a prediction, or an administrator holds its row", () => {
  const HOLDS: [what: string, hold: (sql: postgres.TransactionSql, id: string) => Promise<unknown>][] = [
    ["updates it", (sql, id) => sql`update keyframe.predictions set hidden = true where id = ${id}`],
    ["holds its row", (sql, id) => sql`select from keyframe.predictions where id = ${id} for update`],
    ["holds its work", (sql, id) => sql`select from keyframe_private.work where subject = ${id} for update`],
    ["holds its submits", (sql, id) => sql`select from keyframe_private.provider_submits where prediction_id = ${id} for update`], // biome-ignore format: one line
  ];
  test.each(HOLDS)(
    "%s → others' frames are finished meanwhile; it follows, and no failure is counted",
    async (_what, hold) => {
      const [id, other, provider] = [await seedNew(bad), await seedNew(good), makeProvider()];
      await db.sql.begin(async (open) => {
        await hold(open, id);
        const call: Call = async (_name, run) => {
          const bounded = await db.sql.begin(async (sql) => {
            await sql`set local statement_timeout = '10s'`;
            return { value: await run(sql) };
          });
          return bounded.value as Awaited<ReturnType<typeof run>>;
        };
        for (let rounds = 0; rounds < 10 && (await workOf(db.sql, other)).length > 0; rounds++) {
          await makeDue(db.sql, other);
          const { tasks } = await call("claim_tasks", (sql) => claimTasks(sql, crypto.randomUUID()));
          for (const task of tasks) {
            await perform(task, provider, call).catch(async ({ code }) => {
              expect([task.id, code]).toEqual([id, "55P03"]);
              const given = { work_id: task.work_id, lease_token: task.lease_token, code };
              await call("retry_work", (sql) => callWorker(sql, "retry_work", given));
            });
          }
        }
        await expectDone(other);
      });
      expect(await workOf(db.sql, id)).toMatchObject([{ failures: 0 }]);
      await finish(id, provider);
      await expectDone(id);
      expect(provider.size).toBe(2);
    },
  );
});

describe("a crowd", () => {
  /** Ready submits of a model, each of a lane of its own or all of one. Nothing of them is read but their work. */
  const addCrowd = (count: number, model: string, owner: string | null, lease: string | null = null) => db.sql`
    insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, state, due_at, worker, lease_token)
    select 'ask', 'submit', gen_random_uuid(), o.id, o.id, ${model}, ${lease === null ? "ready" : "leased"}, now() + interval '1 minute', ${lease}, ${lease}
    from generate_series(1, ${count}::int) i
    cross join lateral (select coalesce(${owner}::uuid, ('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid) as id) o`;
  const readsOf = async (work: (sql: postgres.Sql) => Promise<unknown>) =>
    await plansOf(db.url, (sql) => rolledBack(sql, async (open) => void (await work(open as unknown as postgres.Sql))));

  test("100,000 ready tasks of one owner → each of twenty others is claimed within three claims, and few rows are read", async () => {
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

  test("20,000 owners wait for a model that has all its places → one probe passes them, and another model's task is claimed", async () => {
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
