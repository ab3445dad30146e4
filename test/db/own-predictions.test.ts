import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { readRow } from "../support/database/calls.ts";
import { addProject, addWorld, type World } from "../support/database/predictions.ts";
import { codeOf } from "../support/database/refusal.ts";
import { start } from "../support/database/user.ts";

const db = useDatabase();
let world: World;
beforeEach(async () => {
  world = await addWorld(db);
});

describe("read_prediction", () => {
  const read = (step: string, prediction: string | null, reader = world) =>
    db.as({ role: "authenticated", sub: reader.owner }, async (sql) => {
      const [row] =
        await sql`select keyframe.read_prediction(${world.project}, ${step}, ${prediction}) -> 'prediction' as prediction`;
      return row?.prediction;
    });

  test("without an id → the latest run of the step; with one → that run", async () => {
    const older = await start(db, world);
    const latest = await start(db, world);
    expect((await read("first-frame", null)).id).toBe(latest.prediction.id);
    expect((await read("first-frame", older.prediction.id)).id).toBe(older.prediction.id);
  });

  test("of another step, of none, or by another user → not_found", async () => {
    const { prediction } = await start(db, world);
    expect(await codeOf(read("last-frame", prediction.id))).toBe("not_found");
    expect(await codeOf(read("video", null))).toBe("not_found");
    expect(await codeOf(read("first-frame", prediction.id, await addWorld(db)))).toBe("not_found");
  });
});

describe("cancel_prediction", () => {
  test("of another user, or of another project → not_found, and it goes on", async () => {
    const { prediction } = await start(db, world);
    const cancel = (owner: string, project: string) =>
      codeOf(
        db.as(
          { role: "authenticated", sub: owner },
          (sql) => sql`select keyframe.cancel_prediction(${project}, ${prediction.id})`,
        ),
      );
    expect(await cancel((await addWorld(db)).owner, world.project)).toBe("not_found");
    expect(await cancel(world.owner, await addProject(db, world.owner))).toBe("not_found");
    expect((await readRow(db.sql, prediction.id)).status).toBe("queued");
  });
});
