import { beforeAll, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { claim, makeDue, providerSays, readRow, retryLater, runsToCancel } from "../support/database/calls.ts";
import { addWorld, seedPrediction, type World } from "../support/database/predictions.ts";

// Once the provider has accepted a run it is paid for: only its end or its deadline gives it up, not failures of ours.

const db = useDatabase();
let world: World;
beforeAll(async () => {
  world = await addWorld(db);
});

const minutesLeft = async (id: string) => {
  const [row] = await db.sql<{ minutes: number }[]>`
    select (extract(epoch from deadline_at - now()) / 60)::float as minutes from keyframe.predictions where id = ${id}`;
  return row?.minutes ?? Number.NaN;
};
const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000);

describe.each(["starting", "processing", "storing"] as const)("a %s prediction", (status) => {
  test("far more failures than max_failures → tried again later, as often as it takes", async () => {
    const { id } = await seedPrediction(db.sql, world, { status, columns: { failures: 7 } });
    for (const failures of [8, 9, 10]) {
      const { lease_token } = await readRow(db.sql, id);
      expect(await retryLater(db.sql, id, String(lease_token), { code: "storage_unavailable" })).toBe("later");
      expect(await readRow(db.sql, id)).toMatchObject({ status, failures, retry_reason: "storage_unavailable" });
      await makeDue(db.sql, id);
      // Its lease was given back, so nobody died over it: handed out, not exhausted.
      expect((await claim(db.sql, 100)).find((task) => task.id === id)).toMatchObject({ failures });
    }
  });

  test("and then its deadline → failed, with its run cancelled unless it is over", async () => {
    const { id, run } = await seedPrediction(db.sql, world, {
      status,
      columns: { failures: 30, deadline_at: inMinutes(-1) },
    });
    await db.sql`select keyframe_private.fail_overdue()`;
    expect(await readRow(db.sql, id)).toMatchObject({ status: "failed", error_code: "deadline_exceeded" });
    if (status === "storing") expect(await runsToCancel(db.sql)).not.toContain(run);
    else expect(await runsToCancel(db.sql)).toContain(run);
  });
});

describe("an output that is ready", () => {
  test("a minute before the deadline → 50 minutes more to copy it, of the hour that the provider keeps it", async () => {
    const { id, run } = await seedPrediction(db.sql, world, {
      status: "processing",
      columns: { deadline_at: inMinutes(1) },
    });
    expect(await providerSays(db.sql, { id, run: run ?? "", status: "succeeded" })).toBe("recorded");
    expect(await minutesLeft(id)).toBeCloseTo(50, 0);
  });

  test("long before the deadline → the deadline stays", async () => {
    const { id, run } = await seedPrediction(db.sql, world, {
      status: "processing",
      columns: { deadline_at: inMinutes(59) },
    });
    await providerSays(db.sql, { id, run: run ?? "", status: "succeeded" });
    expect(await minutesLeft(id)).toBeCloseTo(59, 0);
  });

  test("announced a second time → the deadline is not put off again", async () => {
    const { id, run } = await seedPrediction(db.sql, world, {
      status: "storing",
      columns: { deadline_at: inMinutes(10) },
    });
    expect(await providerSays(db.sql, { id, run: run ?? "", status: "succeeded" })).toBe("unchanged");
    expect(await minutesLeft(id)).toBeCloseTo(10, 0);
  });
});
