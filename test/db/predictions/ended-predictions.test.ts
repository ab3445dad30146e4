import { expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { readRow } from "../../support/database/calls.ts";
import { addProject, seedPrediction, STATUSES, isOver, useWorld } from "../../support/database/predictions.ts";
import { refusalOf } from "../../support/database/refusal.ts";

// What a prediction was made with, and what it made, is history: not even a superuser edits it.

const db = useDatabase();
const world = useWorld(db);

test.each(STATUSES)(
  "an administrator edits the input of a %s prediction → refused, with what to do instead",
  async (status) => {
    const { id } = await seedPrediction(db.sql, world, { status });
    const before = await readRow(db.sql, id);
    const edited = db.sql`update keyframe.predictions set input = input || '{"prompt": "Another prompt"}' where id = ${id}`;
    const { constraint, message } = await refusalOf(edited);
    expect([constraint, message]).toEqual(["prediction_keeps_its_history", expect.stringMatching(/Insert another/)]);
    expect(await readRow(db.sql, id)).toEqual(before);
  },
);

test.each(STATUSES.filter(isOver))(
  "an administrator edits any other column of a %s prediction → refused; it can be hidden",
  async (status) => {
    const { id } = await seedPrediction(db.sql, world, { status });
    const other = await addProject(db, world.owner);
    for (const set of [
      `project_id = '${other}'`,
      "step = 'last-frame'",
      "model = 'google/nano-banana-pro'",
      "requested_model = 'google/nano-banana-pro'",
      "started_by_server = true",
      "created_at = now() - interval '1 day'",
      "completed_at = now() + interval '1 day'",
      "attempt = 2",
      "progress = 0.5",
      "provider_prediction_id = 'run-of-another'",
      ...(status === "failed"
        ? ["error_code = 'content_rejected'", "error_message = 'Another.'", "error_retryable = false"]
        : []),
      ...(status === "succeeded" ? ["output_sha256 = repeat('b', 64)", "output_bytes = 1", "output_width = 1"] : []),
    ]) {
      const edited = await refusalOf(db.sql.unsafe(`update keyframe.predictions set ${set} where id = '${id}'`));
      expect([set, edited.constraint]).toEqual([set, "prediction_keeps_its_history"]);
      expect(edited.message).toMatch(/^An ended prediction keeps everything but hidden/);
    }
    await db.sql`update keyframe.predictions set hidden = true, updated_at = now() where id = ${id}`;
  },
);

test("a model gets another name → ended predictions get the new name, too", async () => {
  const { id } = await seedPrediction(db.sql, world, { status: "succeeded" });
  const { model } = await readRow(db.sql, id);
  await db.sql`update keyframe.models set model = 'test/renamed' where step = 'first-frame' and model = ${String(model)}`;
  expect((await readRow(db.sql, id)).model).toBe("test/renamed");
});
