import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { readRow } from "../support/database/calls.ts";
import { addWorld, seedPrediction, type World } from "../support/database/predictions.ts";
import { addReference, start } from "../support/database/user.ts";

const db = useDatabase();
let world: World;
beforeEach(async () => {
  world = await addWorld(db);
});

const frame = (step: "first-frame" | "last-frame" = "first-frame") =>
  seedPrediction(db.sql, world, { step, status: "succeeded" });

/** The row that a start made: the answer to it leaves out what no client uses. */
const startedRow = async (wanted: Parameters<typeof start>[2] = {}) =>
  readRow(db.sql, (await start(db, world, wanted)).prediction.id);

describe("what the request leaves out is filled in", () => {
  test("owner, prompt and model of a first frame", async () => {
    expect(await startedRow()).toMatchObject({
      owner_id: world.owner,
      project_id: world.project,
      step: "first-frame",
      status: "queued",
      prompt: "A harbour at dawn, fog, one red boat",
      model: "google/nano-banana",
      attempt: 0,
      reference_image_path: null,
      progress: null,
    });
  });

  test("a prompt of its own → is kept, the project's stays as it was", async () => {
    expect((await startedRow({ prompt: "The boat leaves" })).prompt).toBe("The boat leaves");
  });

  test("the answer → has what the API sends, and nothing else of the row", async () => {
    const { prediction } = await start(db, world);
    expect(Object.keys(prediction).join(" ")).toBe(
      "id project_id step status model attempt progress prompt reference_image_path first_frame_prediction_id " +
        "last_frame_prediction_id duration_seconds queue_position error_code error_message error_retryable output_path " +
        "output_content_type output_bytes output_sha256 output_width output_height output_duration_seconds " +
        "created_at started_at completed_at",
    );
  });

  test("a last frame → keeps the look of the latest first frame, when there is one", async () => {
    expect((await startedRow({ step: "last-frame" })).first_frame_prediction_id).toBe(null);
    const older = await seedPrediction(db.sql, world, {
      status: "succeeded",
      columns: { created_at: new Date(Date.now() - 60_000) },
    });
    expect((await startedRow({ step: "last-frame" })).first_frame_prediction_id).toBe(older.id);
  });

  test("a video → takes the latest frames that succeeded, not later ones that did not", async () => {
    const ago = (seconds: number) => ({ created_at: new Date(Date.now() - seconds * 1000) });
    await seedPrediction(db.sql, world, { status: "succeeded", columns: ago(90) });
    const first = await seedPrediction(db.sql, world, { status: "succeeded", columns: ago(60) });
    await seedPrediction(db.sql, world, { status: "failed", columns: ago(10) });
    await seedPrediction(db.sql, world, { status: "processing", columns: ago(5) });
    const last = await seedPrediction(db.sql, world, { step: "last-frame", status: "succeeded", columns: ago(30) });
    expect(await startedRow({ step: "video" })).toMatchObject({
      model: "kwaivgi/kling-v2.1",
      first_frame_prediction_id: first.id,
      last_frame_prediction_id: last.id,
      duration_seconds: null,
    });
  });

  test("a video without a last frame → goes without one", async () => {
    const first = await frame();
    expect(await startedRow({ step: "video" })).toMatchObject({
      first_frame_prediction_id: first.id,
      last_frame_prediction_id: null,
    });
  });

  test("frames that are named → are taken, also when there are later ones", async () => {
    const [first, last] = [await frame(), await frame("last-frame")];
    await frame();
    await frame("last-frame");
    expect(await startedRow({ step: "video", firstFrame: first.id, lastFrame: last.id, duration: 10 })).toMatchObject({
      first_frame_prediction_id: first.id,
      last_frame_prediction_id: last.id,
      duration_seconds: 10,
    });
  });

  test("a reference of the caller → is kept", async () => {
    const reference = await addReference(db, world.owner);
    expect((await startedRow({ reference })).reference_image_path).toBe(reference);
  });

  test("an administrator's insert without a caller → belongs to the project's owner", async () => {
    const [row] =
      await db.sql`insert into keyframe.predictions (project_id, step) values (${world.project}, 'first-frame') returning owner_id`;
    expect(row?.owner_id).toBe(world.owner);
  });
});
