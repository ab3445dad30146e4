import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addProject, addWorld, seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { codeOf } from "../../support/database/refusal.ts";
import { addReference, start } from "../../support/database/user.ts";
import { whileOpen } from "../../support/database/waiting.ts";
import { call } from "../../support/database/webhooks.ts";

// What a project keeps: the selected takes and a reference image.
const db = useDatabase();
const world = useWorld(db);

const change = (changes: object, versions?: string[], of = world) =>
  call<{ project: Record<string, unknown> }>(db, of.owner, "update_project", {
    project_id: of.project,
    changes,
    ...(versions === undefined ? {} : { versions }),
  });
const project = async ({ project: id } = world) => (await db.sql`select * from keyframe.projects where id = ${id}`)[0];
const codeOfError = ({ message }: Error) => message;
const frame = async (step: "first-frame" | "last-frame" = "first-frame", of = world) =>
  (await seedPrediction(db.sql, of, { step, status: "succeeded" })).id;

describe("a selected frame", () => {
  test("a selected frame of another project, of another step, or unknown → not_found, by the function and the Data API", async () => {
    const neighbour = { ...world, project: await addProject(db, world.owner) };
    for (const id of [await frame("first-frame", neighbour), await frame("last-frame"), crypto.randomUUID()]) {
      expect(await codeOf(change({ selected_first_frame_id: id }))).toBe("not_found");
      const patch = db.asUser(
        world.owner,
        (sql) => sql`update keyframe.projects set selected_first_frame_id = ${id} where id = ${world.project}`,
      );
      expect(await codeOf(patch)).toBe("not_found");
    }
  });

  test("selected frames → a video and a last frame build on them before the latest; frames that a start names come first", async () => {
    const [older, newer, last] = [await frame(), await frame(), await frame("last-frame")];
    const inputs = async (wanted: Parameters<typeof start>[2]) => {
      const { prediction } = await start(db, world, wanted);
      return [prediction.input.firstFramePredictionId, prediction.input.lastFramePredictionId];
    };
    expect((await inputs({ step: "video" }))[0]).not.toBe(older);
    await change({ selected_first_frame_id: older, selected_last_frame_id: last });
    await change({ title: "Quay" });
    const newest = await frame("last-frame");
    expect(await inputs({ step: "video" })).toEqual([older, last]);
    expect(await inputs({ step: "last-frame" })).toEqual([older, null]);
    expect(await inputs({ step: "video", firstFrame: newer, lastFrame: newest })).toEqual([newer, newest]);
    await change({ selected_first_frame_id: null });
    expect((await inputs({ step: "video" }))[0]).not.toBe(older);
  });

  test.each([
    ["queued", "is queued, not succeeded. Try again once it has succeeded."],
    ["storing", "is processing, not succeeded. Try again once it has succeeded."],
    ["failed", "failed and cannot be used. Choose another, or run the step again."],
    ["canceled", "was canceled and cannot be used. Choose another, or run the step again."],
  ] as const)("a selected frame that is %s → frame_not_ready, and what can be done about it", async (status, words) => {
    const { id } = await seedPrediction(db.sql, world, { status });
    await expect(change({ selected_first_frame_id: id })).rejects.toMatchObject({
      ...{ message: "frame_not_ready", detail: `The first-frame prediction ${id} ${words}` },
    });
    expect(await project()).toMatchObject({ selected_first_frame_id: null });
  });

  test("a selected video of this project → is the step's result; its take is deleted → the latest take is", async () => {
    type Step = { is_take: boolean; prediction: { id: string; step: string } };
    const takes = async () => {
      const args = { project_id: world.project };
      const { predictions } = await call<{ predictions: Step[] }>(db, world.owner, "read_project", args);
      const found = predictions.filter(({ is_take, prediction }) => is_take && prediction.step === "video");
      return found.map(({ prediction }) => prediction.id);
    };
    const video = async (of = world) => (await seedPrediction(db.sql, of, { step: "video", status: "succeeded" })).id;
    const [older, newer] = [await video(), await video()];
    expect(await takes()).toEqual([newer]);
    await change({ selected_video_id: older });
    expect(await takes()).toEqual([older]);
    const neighbour = { ...world, project: await addProject(db, world.owner) };
    for (const id of [await video(neighbour), await frame()]) {
      expect(await codeOf(change({ selected_video_id: id }))).toBe("not_found");
    }
    await db.sql`delete from keyframe.predictions where id = ${older}`;
    expect([await takes(), (await project())?.selected_video_id]).toEqual([[newer], null]);
  });

  test("both selected frames are deleted at once → null, and the project's version moves; the project can be deleted too", async () => {
    const [first, last] = [await frame(), await frame("last-frame")];
    await change({ selected_first_frame_id: first, selected_last_frame_id: last });
    const before = await project();
    await db.sql`delete from keyframe.predictions where project_id = ${world.project}`;
    const after = await project();
    expect(after).toMatchObject({ selected_first_frame_id: null, selected_last_frame_id: null });
    expect(after?.updated_at > before?.updated_at).toBe(true);
    await change({ selected_first_frame_id: await frame() });
    await db.sql`delete from keyframe.projects where id = ${world.project}`;
    expect(await project()).toBeUndefined();
  });

  test("a frame is deleted while somebody selects it → the selection waits and finds none", async () => {
    const id = await frame();
    const code = await whileOpen(
      db.sql,
      (sql) => sql`delete from keyframe.predictions where id = ${id}`,
      () => codeOf(change({ selected_first_frame_id: id })),
    );
    expect(code).toBe("not_found");
  });
});

describe("a reference image of a project", () => {
  const removals = async () =>
    (await db.sql`select 'projects/' || name as path from keyframe_private.file_removals`).map(({ path }) => path);

  test("a reference image of somebody else, unknown or malformed → refused", async () => {
    const foreign = await addReference(db, (await addWorld(db)).owner);
    for (const path of [foreign, "projects/none.png"]) {
      expect(await codeOf(change({ reference_image_path: path }))).toBe("not_found");
      const byHand = db.sql`insert into keyframe.projects (owner_id, title, text_prompt, reference_image_path)
        values (${world.owner}, 'x', 'x', ${path})`;
      expect(await codeOf(byHand)).toBe("not_found");
    }
    expect(await codeOf(change({ reference_image_path: "../secret" }))).toBe("invalid_request");
  });

  test("a reference image of two projects → not removed as unused, however old; removed when both are deleted", async () => {
    const path = await addReference(db, world.owner);
    const neighbour = { ...world, project: await addProject(db, world.owner) };
    for (const of of [world, neighbour]) await change({ reference_image_path: path }, undefined, of);
    await seedPrediction(db.sql, world, { status: "succeeded", input: { referenceImagePaths: [path] } });
    await db.sql`delete from keyframe.projects where id = ${world.project}`;
    await db.sql`update storage.objects set created_at = now() - interval '1 year' where 'projects/' || name = ${path}`;
    await db.sql`select keyframe_private.add_removals_of_unused_uploads()`;
    expect(await removals()).not.toContain(path);
    await db.sql`delete from keyframe.projects where id = ${neighbour.project}`;
    expect(await removals()).toContain(path);
  });

  test("a reference image whose removal is queued → kept again; whose removal is under way → not_found", async () => {
    const [queued, leased] = [await addReference(db, world.owner), await addReference(db, world.owner)];
    const nameOf = (path: string) => path.slice("projects/".length);
    await db.sql`insert into keyframe_private.file_removals (bucket, name) values ('projects', ${nameOf(queued)})`;
    await db.sql`
      insert into keyframe_private.file_removals (bucket, name, removed_by) values ('projects', ${nameOf(leased)}, 1)`;
    await change({ reference_image_path: queued });
    expect(await removals()).not.toContain(queued);
    expect(await codeOf(change({ reference_image_path: leased }))).toBe("not_found");
  });
});

test("twenty changes of a project at once with the same version → one succeeds", async () => {
  const versions = [(await project())?.updated_at.toISOString()];
  const titles = Array.from({ length: 20 }, (_, at) => `Title ${at}`);
  const changes = titles.map((title) => change({ title }, versions).then(() => "done", codeOfError));
  expect((await Promise.all(changes)).toSorted()).toEqual(["done", ...Array(19).fill("precondition_failed")]);
});

test("two changes of different fields at once, without a version → both are kept", async () => {
  const prompt = { text_prompt: "Meanwhile" };
  await whileOpen(
    db.sql,
    (open) => open`update keyframe.projects set title = 'Meanwhile' where id = ${world.project}`,
    () => change(prompt),
  );
  expect(await project()).toMatchObject({ title: "Meanwhile", ...prompt });
});

test("the prompt changes while a prediction waits → that prediction keeps its prompt, the next one has the new prompt", async () => {
  const prompts = async () => {
    await start(db, world);
    const rows = await db.sql`
      select input ->> 'prompt' as prompt from keyframe.predictions where project_id = ${world.project} order by created_at`;
    return rows.map(({ prompt }) => prompt);
  };
  const [before = ""] = await prompts();
  await change({ text_prompt: "Night" });
  expect(await prompts()).toEqual([before, "Night"]);
});

test("a transaction that began before a project's last change → still raises the version", async () => {
  await db.sql.begin(async (earlier) => {
    await earlier`select now()`;
    await change({ title: "Meanwhile" });
    const before = await project();
    await earlier`update keyframe.projects set title = 'Earlier' where id = ${world.project}`;
    const [row] = await earlier`select updated_at from keyframe.projects where id = ${world.project}`;
    expect(row?.updated_at > before?.updated_at).toBe(true); // a Date has milliseconds, as the version that the API gives
  });
});

// What the API never asks of these functions, but a user may through the Data API.

test("more rows than a page may have → 101 of projects and of predictions, and 20 without a number", async () => {
  const frame = await seedPrediction(db.sql, world, { status: "canceled" });
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      insert into keyframe.projects (owner_id, title, text_prompt)
      select ${world.owner}, 'Harbour', 'p' from generate_series(1, 120)`;
    await sql`
      insert into keyframe.predictions (project_id, owner_id, step, input, model, status, completed_at)
      select project_id, owner_id, step, input, model, status, completed_at from keyframe.predictions, generate_series(1, 120)
      where id = ${frame.id}`;
  });
  const sizes = async (args: object) => {
    const projects = await call<{ projects: object[] }>(db, world.owner, "list_projects", { ...args });
    const of = { project_id: world.project, ...args };
    const predictions = await call<{ predictions: object[] }>(db, world.owner, "list_predictions", of);
    return [projects.projects.length, predictions.predictions.length];
  };
  expect(await sizes({ max_rows: 1000 })).toEqual([101, 101]);
  expect(await sizes({})).toEqual([20, 20]);
});

test("the search for projects → takes % and _ as plain characters", async () => {
  for (const title of ["Harbour 100%", "Quay"]) {
    await db.sql`insert into keyframe.projects (owner_id, title, text_prompt) values (${world.owner}, ${title}, 'p')`;
  }
  const found = async (search: string) => {
    const { projects } = await call<{ projects: { title: string }[] }>(db, world.owner, "list_projects", { search });
    return projects.map(({ title }) => title);
  };
  expect(await found("100%")).toEqual(["Harbour 100%"]);
  expect([await found("%u%"), await found("Qu_y")]).toEqual([[], []]);
});
