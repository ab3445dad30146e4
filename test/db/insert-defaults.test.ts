import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ClonedDatabase, cloneDatabase } from "../support/clone-database.ts";
import { addWorld, seedPrediction, type World } from "../support/db-predictions.ts";
import { addReference, start } from "../support/db-user.ts";

let db: ClonedDatabase;
let world: World;
beforeAll(async () => {
  db = await cloneDatabase();
});
beforeEach(async () => {
  world = await addWorld(db);
});
afterAll(() => db.drop());

const frame = (step: "first-frame" | "last-frame" = "first-frame") =>
  seedPrediction(db.sql, world, { step, status: "succeeded" });

describe("what the request leaves out is filled in", () => {
  test("owner, prompt and model of a first frame", async () => {
    const { prediction } = await start(db, world);
    expect(prediction).toMatchObject({
      owner_id: world.owner,
      project_id: world.project,
      step: "first-frame",
      status: "queued",
      prompt: "A harbour at dawn, fog, one red boat",
      model: "google/nano-banana",
      attempt: 0,
      reference_image_path: null,
      progress: null,
      queue_position: 0,
    });
  });

  test("a prompt of its own → is kept, the project's stays as it was", async () => {
    expect((await start(db, world, { prompt: "The boat leaves" })).prediction.prompt).toBe("The boat leaves");
  });

  test("what is none of the owner's business → is not in the answer", async () => {
    const { prediction } = await start(db, world);
    for (const hidden of [
      "lease_token",
      "provider_output_url",
      "next_attempt_at",
      "deadline_at",
      "unanswered_since",
      "failures",
    ]) {
      expect(prediction).not.toHaveProperty(hidden);
    }
  });

  test("a last frame → keeps the look of the latest first frame, when there is one", async () => {
    expect((await start(db, world, { step: "last-frame" })).prediction.first_frame_prediction_id).toBe(null);
    const older = await seedPrediction(db.sql, world, {
      status: "succeeded",
      columns: { created_at: new Date(Date.now() - 60_000) },
    });
    expect((await start(db, world, { step: "last-frame" })).prediction.first_frame_prediction_id).toBe(older.id);
  });

  test("a video → takes the latest frames that succeeded, not later ones that did not", async () => {
    const ago = (seconds: number) => ({ created_at: new Date(Date.now() - seconds * 1000) });
    await seedPrediction(db.sql, world, { status: "succeeded", columns: ago(90) });
    const first = await seedPrediction(db.sql, world, { status: "succeeded", columns: ago(60) });
    await seedPrediction(db.sql, world, { status: "failed", columns: ago(10) });
    await seedPrediction(db.sql, world, { status: "processing", columns: ago(5) });
    const last = await seedPrediction(db.sql, world, { step: "last-frame", status: "succeeded", columns: ago(30) });
    expect((await start(db, world, { step: "video" })).prediction).toMatchObject({
      model: "kwaivgi/kling-v2.1",
      first_frame_prediction_id: first.id,
      last_frame_prediction_id: last.id,
      duration_seconds: null,
    });
  });

  test("a video without a last frame → goes without one", async () => {
    const first = await frame();
    expect((await start(db, world, { step: "video" })).prediction).toMatchObject({
      first_frame_prediction_id: first.id,
      last_frame_prediction_id: null,
    });
  });

  test("frames that are named → are taken, also when there are later ones", async () => {
    const [first, last] = [await frame(), await frame("last-frame")];
    await frame();
    await frame("last-frame");
    expect(
      (await start(db, world, { step: "video", firstFrame: first.id, lastFrame: last.id, duration: 10 })).prediction,
    ).toMatchObject({
      first_frame_prediction_id: first.id,
      last_frame_prediction_id: last.id,
      duration_seconds: 10,
    });
  });

  test("a reference of one's own → is kept", async () => {
    const reference = await addReference(db, world.owner);
    expect((await start(db, world, { reference })).prediction.reference_image_path).toBe(reference);
  });

  test("an administrator's insert without a caller → belongs to the project's owner", async () => {
    const [row] =
      await db.sql`insert into keyframe.predictions (project_id, step) values (${world.project}, 'first-frame') returning owner_id`;
    expect(row?.owner_id).toBe(world.owner);
  });
});
