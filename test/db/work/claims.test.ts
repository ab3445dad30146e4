import postgres from "postgres";
import { beforeEach, describe, expect, test } from "vitest";
import { setSettings } from "../../support/database/settings.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { begin, claim, claimOnly, makeDue, readRow, type Task, workOf } from "../../support/database/calls.ts";
import { addWorld, useWorld, type Row, seedCopies, seedPrediction } from "../../support/database/predictions.ts";

const db = useDatabase();
const world = useWorld(db);
beforeEach(async () => {
  await emptyTables(db.sql, "keyframe.predictions, keyframe_private.prediction_images, keyframe_private.file_removals");
});

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);
const unclaimed = (columns: Row = {}) => ({ columns: { attempt: 0, lease_token: null, ...columns } });

/** All are one owner's: like a worker, it begins again when another held the owner's row for too long. */
async function beginPatiently(sql: Parameters<typeof begin>[0], task: Task): Promise<Task | null> {
  for (;;) {
    try {
      return await begin(sql, task);
    } catch (error) {
      if (!(error instanceof postgres.PostgresError && error.code === "55P03")) throw error;
    }
  }
}

test("20 claims at once over 200 due predictions → never hand out one twice, and hand out all", async () => {
  const { id } = await seedPrediction(db.sql, world, unclaimed());
  await seedCopies(db.sql, id, 199);
  /** On its own connection, until nothing is left. */
  const claimAll = async () => {
    const [connection, worker] = [await db.sql.reserve(), crypto.randomUUID()];
    const got: string[] = [];
    try {
      for (;;) {
        const tasks = await claimOnly(connection, 3, 60, 0, 0, worker);
        if (tasks.length === 0) return got;
        for (const task of tasks) if (await beginPatiently(connection, task)) got.push(task.id);
      }
    } finally {
      connection.release();
    }
  };
  const got = (await Promise.all(Array.from({ length: 20 }, claimAll))).flat();
  expect([got.length, new Set(got).size]).toEqual([200, 200]);
  const [row] = await db.sql`select max(attempt) as attempts from keyframe.predictions`;
  expect(row).toEqual({ attempts: 1 });
});

test("a claim → no more than asked for, in turns of the owners, and of each what was added first", async () => {
  const [other, added] = [await addWorld(db), [] as string[]];
  for (let count = 0; count < 3; count++) added.push((await seedPrediction(db.sql, world, unclaimed())).id);
  const { id } = await seedPrediction(db.sql, other, unclaimed());
  const ids = async () => (await claim(db.sql, 2)).map((task) => task.id).sort();
  expect(await ids()).toEqual([added[0], id].sort());
  expect(await ids()).toEqual([added[1], added[2]].sort());
  expect(await ids()).toEqual([]);
});

test("what is not due yet, or waits in line → is not handed out", async () => {
  await seedPrediction(db.sql, world, unclaimed({ due_at: ago(-60) }));
  await seedPrediction(db.sql, world, unclaimed({ admitted_at: null, deadline_at: null }));
  expect(await claim(db.sql)).toEqual([]);
});

describe("a lease", () => {
  test("that holds → no other worker gets the row; it is due again when the lease runs out", async () => {
    const { id } = await seedPrediction(db.sql, world, unclaimed());
    const [task] = await claim(db.sql, 10, 90);
    expect(task).toMatchObject({ id, task: "submit", attempt: 1 });
    expect(await claim(db.sql)).toEqual([]);
    const [row] = await db.sql`
      select extract(epoch from due_at - now())::float8 as seconds, lease_token from keyframe_private.work where subject = ${id}`;
    expect(row).toEqual({ seconds: expect.any(Number), lease_token: task?.lease_token });
    expect([row?.seconds > 60, row?.seconds <= 90]).toEqual([true, true]);
  });

  test("that ran out → claimed again under a new one, with one failure more", async () => {
    const { id, lease } = await seedPrediction(db.sql, world, { status: "storing" });
    const [task] = await claim(db.sql);
    expect(task).toMatchObject({ id, task: "store", attempt: 1, last_error: "lease_expired" });
    expect(task?.lease_token).not.toBe(lease);
    expect(await workOf(db.sql, id)).toMatchObject([{ failures: 1 }]);
  });

  test.each([
    ["store", "storing"],
    ["poll", "processing"],
    ["submit", "queued"],
  ] as const)(
    "of a %s that ran out max_failures times → the prediction fails with attempts_exhausted",
    async (kind, status) => {
      await setSettings(db.sql, { max_failures: 3 });
      const { id } = await seedPrediction(db.sql, world, { status, columns: { lease_token: null, attempt: kind === "submit" ? 0 : 1, updated_at: ago(60) } }); // biome-ignore format: one line
      for (let expired = 0; expired < 3; expired++) {
        expect(await claimOnly(db.sql)).toMatchObject([{ id, task: kind }]);
        await makeDue(db.sql, id);
      }
      const [last] = await claimOnly(db.sql);
      expect(last && (await begin(db.sql, last))).toBeNull();
      expect(await readRow(db.sql, id)).toMatchObject({
        status: "failed",
        error_code: "attempts_exhausted",
        error_retryable: true,
      });
    },
  );

  test("after a submit was begun a million times → the prediction fails at once", async () => {
    const { id } = await seedPrediction(db.sql, world, unclaimed({ attempt: 1_000_000 }));
    await claim(db.sql);
    expect(await readRow(db.sql, id)).toMatchObject({ status: "failed", error_code: "attempts_exhausted" });
  });
});

test("a submit task after an administrator changed the model's row → brings the new settings", async () => {
  await seedPrediction(db.sql, world, unclaimed());
  await db.sql`update keyframe.models set fixed = '{"output_format": "jpg"}' where model = 'google/nano-banana'`;
  expect((await claim(db.sql))[0]?.model_settings).toMatchObject({ fixed: { output_format: "jpg" } });
});

describe("the heartbeat of a claim", () => {
  const looksUntil = async () => {
    const [row] = await db.sql`
      select alive_until > clock_timestamp() and alive_until <= clock_timestamp() + interval '5 seconds' as looking
      from keyframe_private.worker_heartbeats where function_name = 'generate'`;
    return row?.looking;
  };

  test("is recorded by a claim, and cleared by a final claim", async () => {
    await claim(db.sql, 1, 60, 5_000);
    expect(await looksUntil()).toBe(true);
    await claim(db.sql, 1, 60, 0);
    expect(await looksUntil()).toBe(false);
  });

  test("that another claim is just noting → does not hold this claim up", async () => {
    await claim(db.sql, 1, 60, 0);
    const { id } = await seedPrediction(db.sql, world, unclaimed());
    await db.sql.begin(async (sql) => {
      await claim(sql, 0, 60, 5_000);
      expect((await claim(db.sql, 1, 60, 5_000))[0]?.id).toBe(id);
    });
  });
});
