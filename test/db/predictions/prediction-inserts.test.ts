import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { readRow } from "../../support/database/calls.ts";
import {
  addProject,
  addWorld,
  useWorld,
  columnsIn,
  outputPathOf,
  seedPrediction,
} from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";
import { addReference, start, type Wanted } from "../../support/database/user.ts";

const db = useDatabase();
const world = useWorld(db);

type Frame = "first-frame" | "last-frame";
const frame = (step: Frame = "first-frame", status: "succeeded" | "storing" = "succeeded", of = world) =>
  seedPrediction(db.sql, of, { step, status });

/** The code of the refusal; also makes sure that it left no row and took its token. */
async function refusalCode(wanted: Wanted): Promise<string> {
  const state = async () => {
    const [row] = await db.sql`
      select (select count(*) from keyframe.predictions)::int as predictions,
        (select coalesce(sum(1000000 - tokens), 0) from keyframe_private.rate_buckets) as taken`;
    return row;
  };
  // Nothing comes back meanwhile.
  await db.sql`update keyframe_private.rate_buckets set refilled_at = now() + interval '30 seconds'`;
  const before = await state();
  const code = await codeOf(start(db, world, wanted));
  expect(await state()).toEqual({ predictions: before?.predictions, taken: before?.taken + 1 });
  return code;
}

test("another user's project, reference or frame → not_found, word for word as for one that never existed", async () => {
  const other = await addWorld(db);
  const theirs = await addReference(db, other.owner);
  const [framed, running, video] = [
    (await frame("first-frame", "succeeded", other)).id,
    (await frame("last-frame", "storing", other)).id,
    (await seedPrediction(db.sql, other, { step: "video", status: "succeeded" })).id,
  ];
  await frame();
  const never = { id: crypto.randomUUID(), path: `projects/${crypto.randomUUID()}.png` };
  const named = (id: string): [Wanted, Wanted][] => [
    [{ firstFrame: id }, { firstFrame: never.id }],
    [{ lastFrame: id }, { lastFrame: never.id }],
  ];
  for (const [foreign, absent] of [
    [{ project: other.project }, { project: crypto.randomUUID() }],
    [{ reference: theirs }, { reference: never.path }],
    ...[framed, running, video].flatMap(named),
    [{ input: { firstFrameImagePath: theirs } }, { input: { firstFrameImagePath: never.path } }],
    [{ input: { lastFrameImagePath: theirs } }, { input: { lastFrameImagePath: never.path } }],
  ] as [Wanted, Wanted][]) {
    const step = foreign.reference === undefined && foreign.project === undefined ? "video" : "first-frame";
    expect(await refusalCode({ step, ...foreign })).toBe("not_found");
    const said = async (wanted: Wanted) =>
      JSON.stringify(await refusalOf(start(db, world, { step, ...wanted }))).replace(
        /projects\/[\w.-]+|[0-9a-f-]{36}/,
        "it",
      );
    expect(await said(foreign)).toBe(await said(absent));
  }
});

test("a frame of any of the owner's projects and of either step → accepted as first or last frame, also for a last frame", async () => {
  const previousShot = { ...world, project: await addProject(db, world.owner) };
  const { id: end } = await frame("last-frame", "succeeded", previousShot);
  const { id: beginning } = await frame("first-frame", "succeeded", previousShot);
  const model = "kwaivgi/kling-v2.1";
  const both = await start(db, world, { step: "video", model, firstFrame: end, lastFrame: beginning });
  expect(both.prediction.input).toMatchObject({ firstFramePredictionId: end, lastFramePredictionId: beginning });
  const last = await start(db, world, { step: "last-frame", firstFrame: end });
  expect(last.prediction.input).toMatchObject({ firstFramePredictionId: end });
});

test("a frame that has not succeeded → frame_not_ready; a video, a deleted frame, or a frame by both id and path → refused", async () => {
  const { id: first } = await frame();
  const storing = await frame("last-frame", "storing", { ...world, project: await addProject(db, world.owner) });
  expect(await refusalCode({ step: "video", lastFrame: storing.id })).toBe("frame_not_ready");
  const { id: video } = await seedPrediction(db.sql, world, { step: "video", status: "succeeded" });
  expect(await refusalCode({ step: "video", firstFrame: video })).toBe("unsupported_input");
  const columns = { output_content_type: "video/mp4" }; // what a wrongly configured model for images returned
  const moving = await seedPrediction(db.sql, world, { status: "succeeded", columns });
  expect(await refusalCode({ step: "video", firstFrame: moving.id })).toBe("unsupported_input");
  const both = { firstFrameImagePath: await addReference(db, world.owner) };
  expect(await refusalCode({ step: "video", firstFrame: first, input: both })).toBe("invalid_request");
  await db.sql`delete from keyframe.predictions where id = ${first}`;
  expect(await refusalCode({ step: "video", firstFrame: first })).toBe("not_found");
});

describe("an uploaded frame", () => {
  const model = "kwaivgi/kling-v2.1";
  const video = (input: Record<string, unknown>): Wanted => ({ step: "video", model, input });

  test("an uploaded frame → used in place of the selected one, for each role; the input sent again as it was read → the same", async () => {
    const [one, two] = [await addReference(db, world.owner), await addReference(db, world.owner)];
    await frame();
    await frame("last-frame");
    const { prediction } = await start(db, world, video({ firstFrameImagePath: one, lastFrameImagePath: two }));
    expect(prediction.input).toMatchObject({
      ...{ firstFramePredictionId: null, firstFrameImagePath: one },
      ...{ lastFramePredictionId: null, lastFrameImagePath: two },
    });
    expect((await start(db, world, video(prediction.input))).prediction.input).toEqual(prediction.input);
    const last = await start(db, world, { step: "last-frame", input: { firstFrameImagePath: one } });
    expect(last.prediction.input).toMatchObject({ firstFramePredictionId: null, firstFrameImagePath: one });
    const none = await start(db, world, video({ firstFrameImagePath: null, lastFramePredictionId: null }));
    const frames = { firstFramePredictionId: expect.any(String), lastFramePredictionId: null };
    expect(none.prediction.input).toMatchObject(frames);
  });

  test("an uploaded frame of another ratio → refused with its pixels and both ratios; of the start's ratio → accepted", async () => {
    const firstFrameImagePath = await addReference(db, world.owner, { width: 720, height: 1280 });
    expect((await refusalOf(start(db, world, video({ firstFrameImagePath })))).detail).toBe(
      `The frame ${firstFrameImagePath} has 720 × 1280 pixels, and the aspect ratio is 16:9. Generate the frame in 16:9, choose another, or send the aspectRatio of the frame.`,
    );
    const { prediction } = await start(db, world, video({ firstFrameImagePath, aspectRatio: "9:16" }));
    expect(prediction.input).toMatchObject({ firstFrameImagePath, aspectRatio: "9:16" });
  });

  test("an uploaded frame with a malformed path, or for a step that has no such frame → refused", async () => {
    const path = await addReference(db, world.owner);
    for (const wrong of ["../secret.png", "keyframe-outputs/a.png", ["projects/a.png"], 7, { path }])
      expect([wrong, await refusalCode(video({ firstFrameImagePath: wrong }))]).toEqual([wrong, "invalid_request"]);
    expect(await refusalCode({ input: { firstFrameImagePath: path } })).toBe("unsupported_input");
    expect(await refusalCode({ step: "last-frame", input: { lastFrameImagePath: path } })).toBe("unsupported_input");
  });
});

test.each([
  ["none in pixels", null],
  ["nonsense in pixels", { width: "wide", height: -1 }],
  ["one side only", { width: 1280, height: null }],
  ["no pixels", { width: 0, height: 0 }],
])(
  "an image that an administrator stored with %s as its size → refused for every use, saying how to upload it",
  async (_what, size) => {
    const path = await addReference(db, world.owner, size);
    for (const use of [
      () => start(db, world, { step: "video", model: "kwaivgi/kling-v2.1", input: { firstFrameImagePath: path } }),
      () => start(db, world, { input: { referenceImagePaths: [path] } }),
      () => db.sql`update keyframe.projects set reference_image_path = ${path} where id = ${world.project}`,
    ]) {
      const detail = `The size of the image ${path} is not known. Upload it by POST /api/projects/reference-images.`;
      expect(await refusalOf(use())).toMatchObject({ message: "unsupported_input", detail });
    }
  },
);

test("a reference path that is not projects/<file_name> → invalid_request", async () => {
  for (const reference of [
    ...["mine.png", "/projects/mine.png", "keyframe-outputs/mine.png", "projects/", "PROJECTS/mine.png", ""],
    ...["projects/../keyframe-outputs/mine.png", "projects/a..png", "projects/.hidden.png", "projects/folder/mine.png"],
    ...["projects/mine.png?x=1", "projects/mine png", "projects/mine%2epng", "projects/mine.png\n"],
    `projects/${"a".repeat(201)}`,
  ]) {
    expect(await refusalCode({ reference }), reference).toBe("invalid_request");
  }
});

test("a first frame is started → owner, prompt and model are filled in; a prompt and a reference in the start are kept", async () => {
  expect(await readRow(db.sql, (await start(db, world)).prediction.id)).toMatchObject({
    ...{ owner_id: world.owner, project_id: world.project, step: "first-frame", status: "queued", attempt: 0 },
    input: { prompt: "A harbour at dawn, fog, one red boat", referenceImagePaths: [] },
    ...{ progress: null, started_by_server: false },
  });
  const own = { prompt: "The boat leaves", reference: await addReference(db, world.owner) };
  const row = await readRow(db.sql, (await start(db, world, own)).prediction.id);
  expect(row.input).toMatchObject({ prompt: own.prompt, referenceImagePaths: [own.reference] });
});

test("a last frame and a video are started → both build on the latest frames that succeeded, not on later failures", async () => {
  const add = async (step: Frame, status: "succeeded" | "failed" | "processing", ago: number) =>
    (await seedPrediction(db.sql, world, { step, status, columns: { created_at: new Date(Date.now() - ago * 1000) } }))
      .id;
  const builtOn = async (step: "last-frame" | "video") => {
    const { prediction } = await start(db, world, { step });
    return [prediction.input.firstFramePredictionId, prediction.input.lastFramePredictionId];
  };
  expect(await builtOn("last-frame")).toEqual([null, null]);
  await add("first-frame", "succeeded", 90);
  const first = await add("first-frame", "succeeded", 60);
  await add("first-frame", "failed", 10);
  await add("first-frame", "processing", 5);
  expect(await builtOn("last-frame")).toEqual([first, null]);
  expect(await builtOn("video")).toEqual([first, null]);
  const last = await add("last-frame", "succeeded", 30);
  expect(await builtOn("video")).toEqual([first, last]);
});

test("the answer of a start → has what the API sends, and no other column of the row", async () => {
  const { prediction } = await start(db, world);
  expect(Object.keys(prediction).join(" ")).toBe(
    "id project_id step status model requested_model input attempt progress queue_position waits_for error_code error_message error_retryable error_stage output_path " +
      "output_content_type output_bytes output_sha256 output_width output_height output_duration_seconds output_has_audio end_image_path cost hidden outdated " +
      "changed_elements created_at started_at completed_at",
  );
});

test("an app grants users the insert of every column → still no row that has begun, and none that names another user's file", async () => {
  const other = await addWorld(db);
  const { id: theirs } = await frame("first-frame", "succeeded", other);
  const begun = [
    { ...columnsIn("succeeded", "first-frame", outputPathOf(theirs, other)) },
    { ...columnsIn("storing"), provider_output_url: "https://replicate.delivery/theirs.png" },
    { ...columnsIn("queued"), provider_output_url: "https://replicate.delivery/theirs.png", attempt: 0 },
  ];
  for (const columns of begun) {
    await rolledBack(db.sql, async (sql) => {
      await sql`grant all on all tables in schema keyframe to authenticated`;
      await sql`select set_config('request.jwt.claims', ${JSON.stringify({ sub: world.owner })}, true)`;
      await sql`set local role authenticated`;
      const row = { project_id: world.project, step: "first-frame", ...columns };
      const { sqlstate } = await refusalOf(
        sql.savepoint((inner) => inner`insert into keyframe.predictions ${inner(row)}`),
      );
      expect(["42501", "23514"]).toContain(sqlstate); // the policy, or a check of the row
    });
  }
});

test("an administrator inserts a prediction without a caller → it belongs to the project's owner", async () => {
  const [row] =
    await db.sql`insert into keyframe.predictions (project_id, step) values (${world.project}, 'first-frame') returning owner_id`;
  expect(row?.owner_id).toBe(world.owner);
});
