import { beforeAll, describe, expect, test } from "vitest";
import { claim, readRow } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import {
  addProject,
  addWorld,
  columnOf,
  isOver,
  outputPathOf,
  STATUSES,
  type SeedOptions,
  seedPrediction,
  useWorld,
  type World,
} from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { addReference, start } from "../../support/database/user.ts";
import { call } from "../../support/database/webhooks.ts";
import { LONGER } from "../../support/longer.ts";
import { untilSomebodyWaits } from "../../support/database/waiting.ts";

// A take is a prediction that succeeded. Its owner selects it, hides it, deletes it, or makes others with it: also at the same moment.
const db = useDatabase();
const world = useWorld(db);
beforeAll(async () => {
  await db.sql`update keyframe_private.settings set max_active_per_owner = 1000`;
});

type Found = { id: string; hidden: boolean; outdated: boolean };
type Answer = { prediction: Found };

const elsewhere = async (): Promise<World> => ({ ...world, project: await addProject(db, world.owner) });
const take = async (step: SeedOptions["step"] = "first-frame", of = world, options: SeedOptions = {}) =>
  (await seedPrediction(db.sql, of, { step, status: "succeeded", ...options })).id;
const remove = (id: string, of = world) =>
  call<Answer>(db, of.owner, "delete_prediction", { project_id: of.project, prediction_id: id });
const hide = (id: string, hidden = true, of = world) =>
  call<Answer>(db, of.owner, "update_prediction", { project_id: of.project, prediction_id: id, changes: { hidden } });
const select = (changes: object, of = world) =>
  call<object>(db, of.owner, "update_project", { project_id: of.project, changes });
const exists = async (id: string) => (await db.sql`select from keyframe.predictions where id = ${id}`).length === 1;
const removals = () => columnOf(db.sql`select bucket || '/' || name from keyframe_private.file_removals`);
const seconds = (ago: number) => ({ columns: { created_at: new Date(Date.now() - ago * 1000) } });

describe("DELETE of a take", () => {
  test("a take is deleted → its file is removed, no project selects it, and its events and provider run stay", async () => {
    const id = await take();
    await select({ selected_first_frame_id: id });
    await db.sql`
      insert into keyframe.webhook_events (type, owner_id, project_id, prediction_id, payload)
      values ('generation.succeeded', ${world.owner}, ${world.project}, ${id}, '{}')`;
    expect((await remove(id)).prediction).toMatchObject({ id, status: "succeeded" });
    expect(await exists(id)).toBe(false);
    expect(await removals()).toContain(`keyframe-outputs/${outputPathOf(id, world)}`);
    const [kept] = await db.sql`
      select (select count(*)::int from keyframe.webhook_events where prediction_id = ${id}) as events,
        (select count(provider_prediction_id)::int from keyframe_private.provider_submits where prediction_id = ${id}) as runs,
        (select selected_first_frame_id from keyframe.projects where id = ${world.project}) as selected`;
    expect(kept).toEqual({ events: 1, runs: 1, selected: null });
    expect(await codeOf(remove(id))).toBe("not_found");
  });

  test.each(STATUSES)("a %s take is deleted → deleted if it has ended, else refused", async (status) => {
    const { id } = await seedPrediction(db.sql, world, { status });
    if (isOver(status)) await remove(id);
    else expect(await codeOf(remove(id))).toBe("generation_in_progress");
    expect(await exists(id)).toBe(!isOver(status));
  });

  test("a take that a running generation uses is deleted, or its project is → refused until the generation has ended", async () => {
    const id = await take();
    const video = { step: "video", status: "processing", input: { firstFramePredictionId: id } } as const;
    const user = await seedPrediction(db.sql, await elsewhere(), video);
    expect((await refusalOf(remove(id))).detail).toMatch(/^A generation that uses this frame is still running\./);
    const whole = () => call<object>(db, world.owner, "delete_project", { project_id: world.project });
    expect((await refusalOf(whole())).detail).toMatch(/^A generation of another project that uses a frame of this one/);
    await db.sql`select keyframe_private.mark_failed(${user.id}, 'x', 'x', true)`;
    await whole();
    expect(await exists(id)).toBe(false);
  });

  test("a frame that a finished video was made with is deleted → the video keeps the frame's id, and is outdated", async () => {
    const id = await take();
    const video = await take("video", world, { input: { firstFramePredictionId: id } });
    await remove(id);
    expect((await readRow(db.sql, video)).input).toMatchObject({ firstFramePredictionId: id });
    expect((await hide(video, false)).prediction).toMatchObject({ outdated: true });
  });
});

describe("a hidden take", () => {
  type Page = { predictions: Found[] };
  const list = async (args: object = {}) => {
    const asked = { project_id: world.project, ...args };
    return (await call<Page>(db, world.owner, "list_predictions", asked)).predictions.map(({ id }) => id);
  };
  const twoTakes = async () =>
    [await take("first-frame", world, seconds(20)), await take("first-frame", world, seconds(10))] as const;

  test("a hidden take → left out of lists that do not ask for it; shown again → in the lists", async () => {
    const [older, newer] = await twoTakes();
    expect((await hide(newer)).prediction).toMatchObject({ hidden: true });
    for (const args of [{}, { step: "first-frame" }, { only_takes: true }, { step: "first-frame", only_takes: true }]) {
      expect(await list(args)).toEqual([older]);
      expect(await list({ ...args, with_hidden: true })).toEqual([newer, older]);
    }
    await hide(newer, false);
    expect(await list()).toEqual([newer, older]);
  });

  test("a hidden take → is neither its step's result nor used for the next video, unless it is selected or named", async () => {
    const [older, newer] = await twoTakes();
    await hide(newer);
    const shown = async () => {
      type Step = { is_take: boolean; prediction: { id: string } };
      const asked = { project_id: world.project };
      const { predictions } = await call<{ predictions: Step[] }>(db, world.owner, "read_project", asked);
      return predictions.find(({ is_take }) => is_take)?.prediction.id;
    };
    const usedBy = async (firstFrame: string | null = null) =>
      (await start(db, world, { step: "video", firstFrame })).prediction.input.firstFramePredictionId;
    expect([await shown(), await usedBy(), await usedBy(newer)]).toEqual([older, older, newer]);
    await select({ selected_first_frame_id: newer });
    expect([await shown(), await usedBy()]).toEqual([newer, newer]);
  });

  test("a list of takes only → the succeeded predictions of each step, newest first, page by page", async () => {
    const steps = ["first-frame", "last-frame", "first-frame"] as const;
    const ids = [];
    for (const [at, step] of steps.entries()) {
      ids.unshift(await take(step, world, seconds(100 - at)));
      await seedPrediction(db.sql, world, { step, status: "failed", ...seconds(99.5 - at) });
    }
    expect(await list({ only_takes: true })).toEqual(ids);
    expect(await list({ only_takes: true, step: "last-frame" })).toEqual([ids[1]]);
    const [row] = await db.sql`select created_at::text as at from keyframe.predictions where id = ${ids[0] ?? ""}`;
    const after = { before_created_at: row?.at, before_id: ids[0], max_rows: 1 };
    expect(await list({ only_takes: true, ...after })).toEqual([ids[1]]);
  });
});

describe("`outdated`", () => {
  const isOutdated = async (id: string) => (await hide(id, false)).prediction.outdated;

  test("a video or a last frame whose first frame another take has replaced → outdated; selected again → not outdated", async () => {
    const frame = await take();
    const video = await take("video", world, { input: { firstFramePredictionId: frame } });
    const last = await take("last-frame", world, { input: { firstFramePredictionId: frame } });
    expect([await isOutdated(video), await isOutdated(last)]).toEqual([false, false]);
    const newer = await take();
    expect([await isOutdated(video), await isOutdated(last)]).toEqual([true, true]);
    await select({ selected_first_frame_id: frame });
    expect([await isOutdated(video), await isOutdated(last)]).toEqual([false, false]);
    await select({ selected_first_frame_id: null });
    await hide(newer);
    expect(await isOutdated(video)).toBe(false);
  });

  test("a video without a last frame, from an upload, or from frames of another project → not outdated", async () => {
    const frame = await take();
    const video = await take("video", world, { input: { firstFramePredictionId: frame } });
    await take("last-frame");
    const [foreign, neighbour] = [await take("last-frame", await elsewhere()), await elsewhere()];
    const next = await take("video", neighbour, { input: { firstFramePredictionId: foreign } });
    const upload = { firstFramePredictionId: null, firstFrameImagePath: await addReference(db, world.owner) };
    const uploaded = await take("video", world, { input: upload });
    await take("first-frame", neighbour);
    expect(await isOutdated(video)).toBe(false);
    expect(await isOutdated(uploaded)).toBe(false);
    expect((await hide(next, false, neighbour)).prediction.outdated).toBe(false);
  });

  test("a video whose last frame was replaced → outdated; one that runs or failed → not", async () => {
    const [first, last] = [await take(), await take("last-frame")];
    const input = { firstFramePredictionId: first, lastFramePredictionId: last };
    const video = await take("video", world, { input });
    const failed = await seedPrediction(db.sql, world, { step: "video", status: "failed", input });
    await take("last-frame");
    expect([await isOutdated(video), await isOutdated(failed.id)]).toEqual([true, false]);
  });
});

test("an uploaded frame → sent to the worker with its role, kept while a prediction uses it, removed with the last one", async () => {
  const path = await addReference(db, world.owner);
  const input = { firstFrameImagePath: path, lastFrameImagePath: path, resolution: "1080p" };
  const { prediction } = await start(db, world, { step: "video", model: "kwaivgi/kling-v2.1", input });
  const task = (await claim(db.sql, 100)).find(({ id }) => id === prediction.id);
  const image = { bucket: "projects", name: path.slice("projects/".length) };
  const images = ["first_frame", "last_frame"].map((role) => ({ role, ...image }));
  expect(task).toMatchObject({ images, has_images: true });
  const other = await take("video", world, { input: { firstFramePredictionId: null, firstFrameImagePath: path } });
  await call<object>(db, world.owner, "cancel_prediction", { project_id: world.project, prediction_id: prediction.id });
  await remove(prediction.id);
  expect(await removals()).not.toContain(path);
  await remove(other);
  expect(await removals()).toContain(path);
});

test("a selected take is deleted while its project is locked → the deletion waits for the project, with no lock on the take", async () => {
  const id = await take();
  await select({ selected_first_frame_id: id });
  const { removed } = await db.sql.begin(async (open) => {
    await open`select from keyframe.projects where id = ${world.project} for update`;
    const removed = remove(id);
    removed.catch(() => undefined); // it is awaited below
    await untilSomebodyWaits(db.sql);
    await open`select from keyframe.predictions where id = ${id} for update nowait`; // as the project's deletion locks it
    return { removed };
  });
  expect((await removed).prediction).toMatchObject({ id });
});

describe("conflicting requests at the same moment, again and again", () => {
  const use = (firstFrame: string | null) => () => start(db, world, { step: "video", firstFrame });
  const GONE = "generation_in_progress";
  type Race = { sides: (() => Promise<unknown>)[]; outcomes: (string | RegExp)[] };
  const RACES: Record<string, () => Promise<Race>> = {
    "a frame is named by a start and deleted → one of the two": async () => {
      const id = await take();
      return { sides: [use(id), () => remove(id)], outcomes: [`done ${GONE}`, "not_found done"] };
    },
    "a frame is taken by default by a start and deleted → one of the two": async () => {
      Object.assign(world, await addWorld(db));
      const id = await take();
      return {
        sides: [use(null), () => remove(id)],
        outcomes: [`done ${GONE}`, "frame_not_ready done", "not_found done"],
      };
    },
    "a frame is used in another project, and its own project is deleted → one of the two": async () => {
      const source = await elsewhere();
      const whole = () => call<object>(db, world.owner, "delete_project", { project_id: source.project });
      return { sides: [use(await take("last-frame", source)), whole], outcomes: [`done ${GONE}`, "not_found done"] };
    },
    "a take is selected and used by a start → both": async () => {
      const id = await take();
      return { sides: [() => select({ selected_first_frame_id: id }), use(id)], outcomes: ["done done"] };
    },
    "a take is selected, it and the one before are deleted, and a start takes it → none waits for ever": async () => {
      const [before, id] = [await take(), await take()];
      await select({ selected_first_frame_id: before });
      const sides = [() => select({ selected_first_frame_id: id }), () => remove(id), () => remove(before), use(null)];
      return { sides, outcomes: [/^((done|not_found|generation_in_progress|frame_not_ready) ?){4}$/] };
    },
  };

  test.each(Object.entries(RACES))(
    "%s; no deleted take stays selected, and no run lacks its image",
    async (_what, prepare) => {
      for (let time = 0; time < 20 * LONGER; time++) {
        const { sides, outcomes } = await prepare();
        const ends = await Promise.allSettled(sides.map((side) => side()));
        const said = ends.map((end) => (end.status === "fulfilled" ? "done" : (end.reason as Error).message)).join(" ");
        expect(
          outcomes.some((one) => (typeof one === "string" ? one === said : one.test(said))),
          said,
        ).toBe(true);
      }
      const broken = db.sql`
      select selected.id from keyframe.projects p
      cross join unnest(array[p.selected_first_frame_id, p.selected_last_frame_id, p.selected_video_id]) as selected (id)
      where selected.id is not null and not exists (select from keyframe.predictions t where t.id = selected.id)
      union all
      select p.id from keyframe.predictions p cross join keyframe_private.images_of(p.input) i
      where p.completed_at is null and i.source_prediction_id is not null
        and not exists (select from keyframe.predictions t where t.id = i.source_prediction_id)`;
      expect(await columnOf(broken)).toEqual([]);
    },
  );
});
