import { beforeAll, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import {
  addWorld,
  columnsIn,
  STATUSES,
  type Status,
  seedPrediction,
  type World,
} from "../support/database/predictions.ts";
import { refusalOf } from "../support/database/refusal.ts";
import { rolledBack } from "../support/database/rolled-back.ts";

/** Forward only, storing before succeeded, and no way out of an end. */
const LEGAL: Record<Status, Status[]> = {
  queued: ["starting", "processing", "storing", "failed", "canceled"],
  starting: ["processing", "storing", "failed", "canceled"],
  processing: ["storing", "failed", "canceled"],
  storing: ["succeeded", "failed", "canceled"],
  succeeded: [],
  failed: [],
  canceled: [],
};

const db = useDatabase();
let world: World;
beforeAll(async () => {
  world = await addWorld(db);
});

test.each(STATUSES)(
  "a plain update of a %s prediction → goes through where it is legal, even for a superuser",
  async (from) => {
    for (const to of STATUSES) {
      await rolledBack(db.sql, async (sql) => {
        const { id } = await seedPrediction(sql, world, { status: from });
        // Every other column fits the new status, so only the move itself can be refused.
        const update = sql.savepoint(
          (inner) => inner`update keyframe.predictions set ${inner(columnsIn(to))} where id = ${id}`,
        );
        if (from === to || LEGAL[from].includes(to)) return void (await update);
        const { sqlstate, message } = await refusalOf(update);
        expect([sqlstate, message]).toEqual(["23514", `A prediction cannot move from ${from} to ${to}.`]);
      });
    }
  },
);

test("the table of legal moves → holds exactly these", async () => {
  const rows = await db.sql<
    { from_status: Status; to_status: Status }[]
  >`select * from keyframe_private.prediction_moves`;
  const listed = rows.map((move) => `${move.from_status} → ${move.to_status}`).sort();
  expect(listed).toEqual(STATUSES.flatMap((from) => LEGAL[from].map((to) => `${from} → ${to}`)).sort());
});
