import type postgres from "postgres";
import { afterAll, describe, expect, test } from "vitest";
import { providerSays, readRow, retryLater } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";
import { start } from "../../support/database/user.ts";
import {
  addEndpoint,
  call,
  exchange,
  readDelivery,
  record,
  resultOf,
  seedDeliveries,
} from "../../support/database/webhooks.ts";

// The one row of settings holds the budgets.

const db = useDatabase();
const world = useWorld(db);

test("the row of settings is deleted, or its table truncated → refused, and the budgets hold", async () => {
  await db.sql`update keyframe_private.settings set owner_day_micros = 0 where only_row`;
  for (const change of ["delete from keyframe_private.settings where only_row", "truncate keyframe_private.settings"]) {
    const { constraint, message } = await refusalOf(db.sql.unsafe(change));
    expect(constraint, change).toBe("settings_keep_their_row");
    expect(message).toMatch(/update keyframe_private\.settings/);
  }
  expect(await codeOf(start(db, world))).toBe("budget_exceeded");
  await db.sql`update keyframe_private.settings set owner_day_micros = null where only_row`;
});

test("a database without the row of settings, as after a restore → starts are refused; a new row begins with starts stopped", async () => {
  await db.sql`update keyframe_private.settings set max_active_per_owner = 1`;
  const [{ prediction: running }, { prediction: waiting }] = [await start(db, world), await start(db, world)];
  await db.sql`alter table keyframe_private.settings disable trigger user`;
  afterAll(() => db.sql`alter table keyframe_private.settings enable trigger user`);
  await db.sql`delete from keyframe_private.settings where only_row`;
  expect(await codeOf(start(db, world))).toBe("spending_stopped");
  await db.sql`delete from keyframe.predictions where id = ${running.id}`;
  await db.sql`select keyframe_private.admit_in_line(${world.owner})`;
  expect((await readRow(db.sql, waiting.id)).admitted_at).toBeNull();
  const frame = { project_id: world.project, step: "first-frame" };
  const estimated = await call(db, world.owner, "estimate_prediction", frame);
  expect(estimated).toMatchObject({ estimate: { withinBudget: false } });

  await db.sql`insert into keyframe_private.settings default values`;
  expect(await codeOf(start(db, world))).toBe("spending_stopped");
  await db.sql`update keyframe_private.settings set spending_stopped = false where only_row`;
  expect((await start(db, world)).prediction.id).toBeTruthy();
});

describe("paid runs and sent events while the row of settings is missing", () => {
  /** Work in a transaction without the row, which is then undone. */
  async function withoutRow<T>(work: (sql: postgres.TransactionSql) => Promise<T>): Promise<T | undefined> {
    let value: T | undefined;
    await rolledBack(db.sql, async (sql) => {
      await sql`set local session_replication_role = replica`; // as a restore does
      await sql`delete from keyframe_private.settings where only_row`;
      await sql`set local session_replication_role = origin`;
      value = await work(sql);
    });
    return value;
  }

  test.each(["starting", "processing", "succeeded"])(
    "the settings are missing when the provider reports a run that is %s → recorded",
    async (status) => {
      const { id } = await seedPrediction(db.sql, world, { columns: { attempt: 1 } });
      const says = await withoutRow(async (sql) => [
        await providerSays(sql, { id, run: `run of ${id}`, status }),
        (await readRow(sql, id)).provider_prediction_id,
      ]);
      expect(says).toEqual(["recorded", `run of ${id}`]);
    },
  );

  test("the settings are missing when storing fails → tried again after a minute; when an input was unreadable → failed", async () => {
    const running = await seedPrediction(db.sql, world, { status: "processing" });
    const storing = await seedPrediction(db.sql, world, { status: "storing" });
    const answers = await withoutRow(async (sql) => [
      await retryLater(sql, storing.id, storing.lease, { answered: false }),
      await providerSays(sql, {
        id: running.id,
        run: String(running.run),
        status: "failed",
        failure: "input_unreachable",
      }),
      ...(await sql`
        select id, status, (
          select w.due_at > now() + interval '50 seconds' from keyframe_private.work w where w.subject = p.id and w.kind = 'store') as later
        from keyframe.predictions p where id in (${storing.id}, ${running.id}) order by status desc`),
    ]);
    expect(answers).toMatchObject([
      "later",
      "recorded",
      { id: running.id, status: "failed" },
      { id: storing.id, status: "storing", later: true },
    ]);
  });

  test("the settings are missing when a delivery's attempt fails → tried again, and not given up", async () => {
    const endpoint = await addEndpoint(db.sql, world.owner);
    await seedDeliveries(db.sql, endpoint, 1);
    const [delivery] = (await exchange(db.sql)).deliveries;
    if (!delivery) throw new Error("Nothing to deliver.");
    const row = await withoutRow(async (sql) => {
      await record(sql, [resultOf(delivery, { status_code: 500, error: "http_status" })]);
      return readDelivery(sql, delivery.id);
    });
    expect(row).toMatchObject({ status: "pending", attempts: 1 });
  });
});
