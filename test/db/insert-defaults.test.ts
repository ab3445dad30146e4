import { beforeEach, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { readRow } from "../support/database/calls.ts";
import { addWorld, seedPrediction, type World } from "../support/database/predictions.ts";
import { addReference, start } from "../support/database/user.ts";

// What a request leaves out is filled in.

const db = useDatabase();
let world: World;
beforeEach(async () => {
  world = await addWorld(db);
});

/** The row that a start made: the answer to it leaves out what no client uses. */
const startedRow = async (wanted: Parameters<typeof start>[2] = {}) =>
  readRow(db.sql, (await start(db, world, wanted)).prediction.id);
const frame = async (step: "first-frame" | "last-frame", status: "succeeded" | "failed" | "processing", ago: number) =>
  (await seedPrediction(db.sql, world, { step, status, columns: { created_at: new Date(Date.now() - ago * 1000) } }))
    .id;

test("owner, prompt and model of a first frame; a prompt and a reference of its own are kept", async () => {
  expect(await startedRow()).toMatchObject({
    ...{ owner_id: world.owner, project_id: world.project, step: "first-frame", status: "queued", attempt: 0 },
    ...{ prompt: "A harbour at dawn, fog, one red boat", model: "google/nano-banana" },
    ...{ reference_image_path: null, progress: null },
  });
  const own = { prompt: "The boat leaves", reference: await addReference(db, world.owner) };
  const row = await startedRow(own);
  expect([row.prompt, row.reference_image_path]).toEqual([own.prompt, own.reference]);
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

test("a last frame and a video → build on the latest frames that succeeded, not on later ones that did not", async () => {
  expect((await startedRow({ step: "last-frame" })).first_frame_prediction_id).toBe(null);
  await frame("first-frame", "succeeded", 90);
  const first = await frame("first-frame", "succeeded", 60);
  await frame("first-frame", "failed", 10);
  await frame("first-frame", "processing", 5);
  const built = { first_frame_prediction_id: first, last_frame_prediction_id: null };
  expect(await startedRow({ step: "last-frame" })).toMatchObject(built);
  const video = { model: "kwaivgi/kling-v2.1", duration_seconds: null };
  expect(await startedRow({ step: "video" })).toMatchObject({ ...video, ...built });
  const last = await frame("last-frame", "succeeded", 30);
  expect(await startedRow({ step: "video" })).toMatchObject({ ...built, last_frame_prediction_id: last });
});

test("frames that are named → are taken, also when there are later ones", async () => {
  const [first, last] = [await frame("first-frame", "succeeded", 9), await frame("last-frame", "succeeded", 9)];
  await frame("first-frame", "succeeded", 1);
  await frame("last-frame", "succeeded", 1);
  expect(await startedRow({ step: "video", firstFrame: first, lastFrame: last, duration: 10 })).toMatchObject({
    first_frame_prediction_id: first,
    last_frame_prediction_id: last,
    duration_seconds: 10,
  });
});

test("an administrator's insert without a caller → belongs to the project's owner", async () => {
  const [row] =
    await db.sql`insert into keyframe.predictions (project_id, step) values (${world.project}, 'first-frame') returning owner_id`;
  expect(row?.owner_id).toBe(world.owner);
});
