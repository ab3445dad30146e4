import type { Sql, TransactionSql } from "postgres";
import { beforeEach, describe, expect, test } from "vitest";
import { claim, makeDue, readRow, submitsOf, sweepAndClaim } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { clearPredictions } from "../../support/database/empty-tables.ts";
import { addFilm, addShot } from "../../support/database/films.ts";
import { addWorld, columnOf, type Row, seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { addReference } from "../../support/database/user.ts";
import { untilSomebodyWaits } from "../../support/database/waiting.ts";
import { call } from "../../support/database/webhooks.ts";

// A shot whose video begins where the one before ends: it waits for that video, and for its end image.

const db = useDatabase("shipped limits");
const world = useWorld(db);
beforeEach(() => clearPredictions(db.sql, "cost_changes", "cost_sums", "owner_budgets"));

type Made = Row & { id: string; input: Row };
const CONTINUES = { video: { continuesPreviousShot: true } };
const asOwner = <Answer>(name: string, args: Record<string, string | number | boolean | object | null>) =>
  call<Answer>(db, world.owner, name, args);
const plan = (project: string, settings: object) =>
  asOwner("update_project", { project_id: project, changes: { plan: settings } });
const startVideo = async (project: string, fields: Record<string, object> = {}) =>
  (await asOwner<{ prediction: Made }>("start_prediction", { project_id: project, step: "video", ...fields }))
    .prediction;
const startFilm = async (film: string, fields: Record<string, string | boolean | object> = {}) =>
  (await asOwner<{ predictions: Made[] }>("start_film", { film_id: film, step: "video", ...fields })).predictions;
const storeEnd = (video: string, project: string, path: string | null) =>
  asOwner("update_prediction", { project_id: project, prediction_id: video, changes: { end_image_path: path } });
const takeOf = async (project: string, step: "first-frame" | "video" = "video", input: object = {}) =>
  (await seedPrediction(db.sql, { owner: world.owner, project }, { step, status: "succeeded", input })).id;
const estimateFilm = async (film_id: string, more: object = {}) =>
  (await asOwner<{ estimate: Row & { shots: Row[] } }>("estimate_film", { film_id, step: "video", ...more })).estimate;
/** What a worker writes when the file of a run is stored. */
const succeed = async (id: string, sql: Sql | TransactionSql = db.sql) => {
  await sql`update keyframe.predictions set status = 'storing', provider_prediction_id = ${`run-${id}`}, started_at = now(),
    provider_output_url = 'https://replicate.delivery/out.mp4' where id = ${id}`;
  await sql`
    update keyframe.predictions set status = 'succeeded', output_path = owner_id || '/' || project_id || '/' || id || '.mp4',
      output_content_type = 'video/mp4', output_bytes = 1, output_sha256 = ${"a".repeat(64)}, completed_at = now() where id = ${id}`;
};
/** As nobody can: what a prediction is made with, and when it began. */
const rewrite = (id: string, columns: { created_at?: Date; input?: object }) =>
  db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    const { created_at = null, input = {} } = columns;
    await sql`
      update keyframe.predictions set input = input || ${sql.json(input as never)}, created_at = coalesce(${created_at}, created_at)
      where id = ${id}`;
  });
const cancel = (project_id: string, { id }: { id: string }) =>
  asOwner("cancel_prediction", { project_id, prediction_id: id });
/** What the end of a video or a stored picture adds is done by the worker; what follows from that, too. */
const work = async () => {
  for (let left = 1; left > 0; ) {
    await claim(db.sql, 100);
    const rows = await db.sql`select from keyframe_private.work where kind = 'continue' and due_at <= now()`;
    left = rows.count;
  }
};
const stateOf = async (id: string) => {
  const { status, waits_for, admitted_at, error_code } = await readRow(db.sql, id);
  return { status, waits_for, admitted: admitted_at !== null, error_code };
};
const waitsFor = (id: string | undefined) => ({ status: "queued", waits_for: id, admitted: false, error_code: null });
const STARTED = { status: "queued", waits_for: null, admitted: true, error_code: null };
const held = async () =>
  (
    await columnOf<number>(db.sql`
    select coalesce(sum(held_micros), 0)::int from keyframe_private.costs where kind = 'owner_day' and owner_id = ${world.owner}`)
  )[0];

/** A film whose first shot has a first frame, and whose others continue the one before. */
async function addContinuingFilm(shots: number) {
  const film = await addFilm(db, world.owner);
  const projects: string[] = [];
  for (let shot = 0; shot < shots; shot++) {
    const project = await addShot(db, world.owner, film);
    if (shot > 0) await plan(project, CONTINUES);
    projects.push(project);
  }
  await takeOf(projects[0] ?? "", "first-frame");
  return { film, projects: projects as [string, string, ...string[]] };
}

describe("a film of five shots, each of which continues the one before", () => {
  test("a film of five continuing shots is started → holds the estimated price; each shot begins when the one before has ended", async () => {
    const { film, projects } = await addContinuingFilm(5);
    const estimate = await estimateFilm(film);
    expect(estimate.shots.map(({ error }) => error)).toEqual([null, null, null, null, null]);
    const made = await startFilm(film);
    expect(await held()).toBe(estimate.atMostMicros);
    expect(made.map(({ waits_for }) => waits_for)).toEqual([null, ...made.slice(0, 4).map(({ id }) => id)]);
    expect(made.map(({ queue_position }) => queue_position)).toEqual([0, null, null, null, null]);

    for (const [shot, { id }] of made.entries()) {
      expect(await stateOf(id), `shot ${shot + 1}`).toEqual(STARTED);
      await succeed(id);
      const next = made[shot + 1];
      if (next === undefined) break;
      expect(await stateOf(next.id)).toEqual(waitsFor(id)); // its end is not known
      const path = await addReference(db, world.owner);
      await storeEnd(id, projects[shot] ?? "", path);
      await work();
      const begins = { firstFrameImagePath: path, continuesPredictionId: id };
      expect((await readRow(db.sql, next.id)).input).toMatchObject(begins);
      const images = db.sql`select role || ' ' || path from keyframe_private.prediction_images where prediction_id = ${next.id}`;
      expect(await columnOf(images)).toEqual([`first_frame ${path}`]);
    }
  });

  test("a film of continuing shots is started in another ratio than theirs → the price that was estimated is held", async () => {
    const { film, projects } = await addContinuingFilm(3);
    await seedPrediction(
      db.sql,
      { owner: world.owner, project: projects[0] },
      { step: "first-frame", status: "succeeded", columns: { output_width: 360, output_height: 640 } },
    );
    const estimate = await estimateFilm(film, { input: { aspectRatio: "9:16" } });
    expect(estimate.shots.map(({ error }) => error)).toEqual([null, null, null]);
    expect(await startFilm(film, { input: { aspectRatio: "9:16" } })).toHaveLength(3);
    expect(await held()).toBe(estimate.atMostMicros);
  });

  test("a start of first frames for a film → only for shots that begin with one, not for those made without", async () => {
    const { film, projects } = await addContinuingFilm(3);
    const [alone, made] = [await addShot(db, world.owner, film), await addShot(db, world.owner, film)];
    await takeOf(made, "video", { firstFramePredictionId: null });
    const frames = async (more = {}) =>
      (await startFilm(film, { step: "first-frame", ...more })).map(({ project_id }) => project_id);
    expect(await frames()).toEqual([alone]);
    expect(await frames({ project_ids: projects })).toEqual([]);
    const order = [projects[1], projects[0], projects[2], alone, made] as string[];
    await asOwner("update_film", { film_id: film, project_ids: order });
    expect(await frames()).toEqual([projects[1]]); // it is the first of its film now
  });

  const fail = (id: string) => db.sql`select keyframe_private.mark_failed(${id}, 'provider_failed', 'No.', true)`;
  test.each([
    ["fails", fail],
    ["is canceled", (id: string) => db.sql`select keyframe_private.mark_canceled(${id})`],
    ["is canceled while it waits", null],
  ])(
    "a prediction in the middle of a film %s → all shots behind it fail and say so, and their holds are given back",
    async (_how, end) => {
      const { film, projects } = await addContinuingFilm(5);
      const made = await startFilm(film);
      const [first, second, ...rest] = made as [Made, Made, ...Made[]];
      if (end === null) await cancel(projects[1], second);
      else {
        await succeed(first.id);
        await storeEnd(first.id, projects[0], await addReference(db, world.owner));
        await end(second.id);
      }
      await work();
      for (const { id } of rest) {
        expect(await stateOf(id)).toMatchObject({ status: "failed", error_code: "previous_shot_failed" });
        const events = db.sql`select type from keyframe.webhook_events where prediction_id = ${id}`;
        expect(await columnOf(events)).toEqual(["generation.failed"]);
        expect(await submitsOf(db.sql, id)).toMatchObject([{ cost_state: "released" }]);
      }
    },
  );
});

describe("the beginning of a continuing shot", () => {
  test("a continuing shot → begins with the shown video's stored end image, else with the last frame it was made to end on", async () => {
    const { projects } = await addContinuingFilm(2);
    const lastFrame = await takeOf(projects[0], "first-frame");
    const older = await takeOf(projects[0], "video", { lastFramePredictionId: lastFrame });
    expect((await startVideo(projects[1])).input).toMatchObject({
      ...{ continuesPreviousShot: true, continuesPredictionId: older, firstFramePredictionId: lastFrame },
    });
    const newer = await takeOf(projects[0]);
    const path = await addReference(db, world.owner);
    await storeEnd(newer, projects[0], path);
    expect((await startVideo(projects[1])).input).toMatchObject({
      continuesPredictionId: newer,
      firstFrameImagePath: path,
    });
    await asOwner("update_project", { project_id: projects[0], changes: { selected_video_id: older } });
    expect((await startVideo(projects[1])).input).toMatchObject({ continuesPredictionId: older });
  });

  test.each([
    ["no shot is before it", 0, "unsupported_input"],
    ["the previous shot has no video, and none is made", 1, "frame_not_ready"],
  ])("a shot that continues, but %s → refused", async (_what, at, code) => {
    const { projects } = await addContinuingFilm(2);
    expect(await codeOf(startVideo(projects[at] ?? "", { input: { continuesPreviousShot: true } }))).toBe(code);
  });

  test("an answer's input, estimated when the previous video and its end image are gone → refused, with the price of a video", async () => {
    const { film, projects } = await addContinuingFilm(2);
    const input = { continuesPreviousShot: true, continuesPredictionId: crypto.randomUUID() };
    const gone = { ...input, firstFrameImagePath: "projects/none.png" };
    for (const each of [input, gone]) {
      const { shots } = await estimateFilm(film, { project_ids: projects.slice(1), input: each });
      expect(shots).toMatchObject([{ error: { code: "frame_not_ready" }, atMostMicros: expect.any(Number) }]);
    }
  });

  test("a first frame that continues a shot, or an end image for something other than a finished video → refused", async () => {
    const { projects } = await addContinuingFilm(2);
    const asked = { project_id: projects[1], step: "first-frame", input: { continuesPreviousShot: true } };
    expect(await codeOf(asOwner("start_prediction", asked))).toBe("unsupported_input");
    const frame = await takeOf(projects[0], "first-frame");
    expect(await codeOf(storeEnd(frame, projects[0], await addReference(db, world.owner)))).toBe("unsupported_input");
    const video = await takeOf(projects[0]);
    expect(await codeOf(storeEnd(video, projects[0], "projects/none.png"))).toBe("not_found");
    const other = await addWorld(db);
    expect(await codeOf(storeEnd(video, projects[0], await addReference(db, other.owner)))).toBe("not_found");
  });
});

test("the previous shot shows another video, or the shot is moved → the shot's take is outdated; moved back, it is not", async () => {
  const { film, projects } = await addContinuingFilm(3);
  const video = await takeOf(projects[0]);
  const take = await takeOf(projects[1], "video", { continuesPreviousShot: true, continuesPredictionId: video });
  const isOutdated = async () => {
    const answer = await asOwner<{ prediction: Row }>("read_prediction", {
      ...{ project_id: projects[1], step: "video", prediction_id: take },
    });
    return answer.prediction.outdated;
  };
  const order = (...ids: (string | undefined)[]) => asOwner("update_film", { film_id: film, project_ids: ids });
  expect(await isOutdated()).toBe(false);
  await order(projects[2], projects[1], projects[0]);
  expect(await isOutdated()).toBe(true);
  await order(...projects);
  expect(await isOutdated()).toBe(false);
  await takeOf(projects[0]);
  expect(await isOutdated()).toBe(true);
});

describe("one start for all that is outdated", () => {
  const takes = async (projects: string[]) => {
    const videos: string[] = [];
    for (const project of projects) {
      const before = videos.at(-1);
      const input = before === undefined ? {} : { continuesPreviousShot: true, continuesPredictionId: before };
      videos.push(await takeOf(project, "video", input));
    }
    return videos;
  };
  const outdate = (video = "") => rewrite(video, { input: { firstFramePredictionId: crypto.randomUUID() } }); // its frame was deleted

  test("one start of what is outdated → the video and all that continue it are made, at the estimated price, in order", async () => {
    const { film, projects } = await addContinuingFilm(4);
    await outdate((await takes(projects))[1]);
    const estimate = await estimateFilm(film, { outdated: true });
    const made = await startFilm(film, { outdated: true });
    expect(made.map(({ project_id }) => project_id)).toEqual(projects.slice(1));
    expect(await held()).toBe(estimate.atMostMicros);
    expect(made.slice(1).map(({ waits_for }) => waits_for)).toEqual(made.slice(0, 2).map(({ id }) => id));
    expect(await startFilm(film, { outdated: true })).toEqual([]); // they run
  });

  test("a start of what is outdated with a selected outdated take → nothing starts: a new take would not be shown", async () => {
    const { film, projects } = await addContinuingFilm(2);
    const [first] = await takes(projects);
    await outdate(first);
    await asOwner("update_project", { project_id: projects[0], changes: { selected_video_id: first } });
    expect(await startFilm(film, { outdated: true })).toEqual([]);
  });
});

describe("problems of a prediction that waits for another", () => {
  /** Two starts that wait for the same video, of which one cannot have its picture. */
  async function twoThatWait() {
    const { projects } = await addContinuingFilm(2);
    const video = await takeOf(projects[0]);
    const [one, other] = [await startVideo(projects[1]), await startVideo(projects[1])];
    await work();
    return { projects, video, one, other };
  }
  const holding = (id: string, then: () => Promise<unknown>) =>
    db.sql.begin(async (open) => {
      await open`select from keyframe.predictions where id = ${id} for update`;
      await then();
    });
  const storePicture = async (video: string, project: string) =>
    await storeEnd(video, project, await addReference(db, world.owner));

  test("the shape of a waiting prediction does not fit the end image → that prediction fails, and the other one begins", async () => {
    const { projects, video, one, other } = await twoThatWait();
    await rewrite(one.id, { input: { aspectRatio: "9:16" } });
    await storePicture(video, projects[0]);
    await work();
    expect(await stateOf(one.id)).toMatchObject({ status: "failed", error_code: "unsupported_input" });
    expect(await stateOf(other.id)).toEqual(STARTED);
  });

  test("an app's trigger raises for a waiting prediction → that prediction waits on, and the other one begins", async () => {
    const { projects, video, one, other } = await twoThatWait();
    await db.sql.unsafe(`
      create function public.refuse() returns trigger language plpgsql as 'begin raise exception ''no''; end';
      create trigger app_refuses before update on keyframe.predictions for each row when (new.id = '${one.id}') execute function public.refuse()`);
    await storePicture(video, projects[0]);
    await work();
    await db.sql`drop function public.refuse cascade`;
    expect(await stateOf(one.id)).toEqual(waitsFor(video));
    expect(await stateOf(other.id)).toEqual(STARTED);
    await makeDue(db.sql, one.id);
    await work();
    expect(await stateOf(one.id)).toEqual(STARTED);
  });

  test.each<[string, (id: string, store: () => Promise<unknown>) => Promise<unknown>]>([
    ["is held while the picture is stored", (id, store) => holding(id, () => store().then(work))],
    [
      "has lost its work, as in a restore",
      (_id, store) => store().then(() => db.sql`delete from keyframe_private.work`),
    ],
  ])("the waiting prediction %s → begins later", async (_what, meanwhile) => {
    const { projects, video, one } = await twoThatWait();
    await meanwhile(one.id, () => storePicture(video, projects[0]));
    expect(await stateOf(one.id)).toEqual(waitsFor(video));
    await makeDue(db.sql, one.id);
    await sweepAndClaim(db.sql);
    expect(await stateOf(one.id)).toEqual(STARTED);
  });

  test("nobody stores the end image for a day → the waiting prediction fails, and its hold is given back", async () => {
    const { one } = await twoThatWait();
    await rewrite(one.id, { created_at: new Date(Date.now() - 25 * 3_600_000) });
    const before = await held();
    await sweepAndClaim(db.sql);
    expect(await stateOf(one.id)).toMatchObject({ status: "failed", error_code: "deadline_exceeded" });
    expect(await held()).toBe((before ?? 0) / 2);
  });

  test("the video that a prediction waits for is canceled → it continues the previous shot's other video", async () => {
    const { projects } = await addContinuingFilm(2);
    const [kept, canceled] = [await startVideo(projects[0]), await startVideo(projects[0])];
    const next = await startVideo(projects[1]);
    expect(next.waits_for).toBe(canceled.id);
    await cancel(projects[0], canceled);
    await work();
    expect(await stateOf(next.id)).toEqual(waitsFor(kept.id));
  });

  test("a video meant to replace an older one is canceled → the prediction that waits for it fails, without using the older one", async () => {
    const { projects } = await addContinuingFilm(2);
    await rewrite(await takeOf(projects[0]), { created_at: new Date(Date.now() - 3_600_000) });
    const canceled = await startVideo(projects[0]);
    const next = await startVideo(projects[1]);
    expect(next.waits_for).toBe(canceled.id);
    await cancel(projects[0], canceled);
    await work();
    expect(await stateOf(next.id)).toMatchObject({ status: "failed", error_code: "previous_shot_failed" });
  });

  test("an administrator stores the end image by SQL → the waiting prediction begins; with another user's image → it fails", async () => {
    const stored = async (owner: string) => {
      const { video, one } = await twoThatWait();
      const path = await addReference(db, owner);
      await db.sql`update keyframe.predictions set end_image_path = ${path} where id = ${video}`;
      await work();
      return await stateOf(one.id);
    };
    expect(await stored(world.owner)).toEqual(STARTED);
    expect(await stored(await db.addUser())).toMatchObject({ status: "failed", error_code: "input_file_missing" });
  });
});

test("a shot that continues one of another aspect ratio → refused before it is priced", async () => {
  const { film, projects } = await addContinuingFilm(2);
  await asOwner("update_project", { project_id: projects[1], changes: { aspect_ratio: "9:16" } });
  const { shots } = await estimateFilm(film);
  expect(shots.map(({ error }) => Object(error).code)).toEqual([undefined, "unsupported_input"]);
  expect(await codeOf(startFilm(film))).toBe("unsupported_input");
});

test.each<[object]>([
  ...["true", 1, [], {}].map((value): [object] => [{ continuesPreviousShot: value }]),
  [{ continuesPreviousShot: true, firstFramePredictionId: crypto.randomUUID() }],
])("a start with %j → invalid_request", async (input) => {
  const { projects } = await addContinuingFilm(2);
  expect(await codeOf(startVideo(projects[1], { input }))).toBe("invalid_request");
});

test("a video that another one waits for, or its project, is deleted → refused; by an administrator → the other one fails", async () => {
  const { film, projects } = await addContinuingFilm(2);
  const [first, second] = (await startFilm(film)) as [Made, Made];
  await succeed(first.id);
  for (const [name, args] of [
    ["delete_prediction", { prediction_id: first.id }],
    ["delete_project", {}],
  ] as const) {
    expect(await codeOf(asOwner(name, { project_id: projects[0], ...args }))).toBe("generation_in_progress");
  }
  await db.sql`delete from keyframe.predictions where id = ${first.id}`;
  await sweepAndClaim(db.sql);
  expect(await stateOf(second.id)).toMatchObject({ status: "failed", error_code: "previous_shot_failed" });
});

test("the end image of a video → kept while the video names it, and removed with the video", async () => {
  const { projects } = await addContinuingFilm(2);
  const video = await takeOf(projects[0]);
  const path = await addReference(db, world.owner);
  await storeEnd(video, projects[0], path);
  const isUsed = async () => (await db.sql`select keyframe_private.is_reference_used(${path}) as used`)[0]?.used;
  expect(await isUsed()).toBe(true);
  await asOwner("delete_prediction", { project_id: projects[0], prediction_id: video });
  expect(await isUsed()).toBe(false);
  const removals = await db.sql`select from keyframe_private.file_removals where 'projects/' || name = ${path}`;
  expect(removals).toHaveLength(1);
});

test("a video ends in an open transaction while the next shot is started → the next shot begins all the same", async () => {
  const { projects } = await addContinuingFilm(2);
  const lastFrame = await takeOf(projects[0], "first-frame");
  const first = await startVideo(projects[0], { input: { lastFramePredictionId: lastFrame } });
  let next: Promise<Made> | undefined;
  await db.sql.begin(async (open) => {
    await open`select keyframe_private.acquire_lock('slots', ${world.owner})`;
    next = startVideo(projects[1]);
    await untilSomebodyWaits(db.sql);
    await succeed(first.id, open);
  });
  const { id } = (await next) as Made;
  await sweepAndClaim(db.sql);
  expect((await readRow(db.sql, id)).input).toMatchObject({ firstFramePredictionId: lastFrame });
  expect((await stateOf(id)).waits_for).toBeNull();
});

test("more than 500 predictions would wait → refused: a film has no more shots", async () => {
  const { film, projects } = await addContinuingFilm(2);
  const [, second] = (await startFilm(film)) as [Made, Made];
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      insert into keyframe.predictions select c.* from keyframe.predictions p, generate_series(1, 499) i
      cross join lateral jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'attempt', i)) c where p.id = ${second.id}`;
  });
  expect((await refusalOf(startVideo(projects[1]))).detail).toContain("At most 500 shots");
});

test("a waiting prediction priced by input pixels → the model's ceiling is held, then the price once the end image is there", async () => {
  const { film, projects } = await addContinuingFilm(3);
  const lastFrame = await takeOf(projects[0], "first-frame");
  await db.sql.begin(async (sql) => {
    await sql`
      update keyframe.models set cost_ceiling_micros = 2000000
      where (step, model) in (select step, model from keyframe.step_defaults where step = 'video')`;
    await sql`
      insert into keyframe_private.model_prices (model, metric, price_usd, valid_from, source)
      select model, 'input_megapixel', 0.01, '2020-01-01', 'test' from keyframe.step_defaults where step = 'video'`;
  });
  const estimate = await estimateFilm(film);
  const prices = estimate.shots.map(({ atMostMicros }) => atMostMicros);
  expect(prices.slice(1)).toEqual([2_000_000, 2_000_000]);
  const [first, second] = (await startFilm(film, { input: { lastFramePredictionId: lastFrame } })) as [Made, Made];
  const holds = async () => Number((await submitsOf(db.sql, second.id))[0]?.most_micros);
  expect(await holds()).toBe(2_000_000);
  const before = await held();
  await succeed(first.id);
  await work();
  const after = await holds();
  expect(after).toBeLessThan(2_000_000);
  expect(await held()).toBeLessThanOrEqual((before ?? 0) - 2_000_000 + after);
  expect(await stateOf(second.id)).toEqual(STARTED);
});
