import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { addProject, addWorld, type Row, seedPrediction, type World } from "../support/database/predictions.ts";
import { codeOf } from "../support/database/refusal.ts";
import { call } from "../support/database/webhooks.ts";

type Project = Row & { id: string; created_at: string; predictions?: Row[] };
type Args = Parameters<typeof call>[3];

const db = useDatabase();
let world: World;
let stranger: World;
beforeEach(async () => {
  world = await addWorld(db);
  stranger = await addWorld(db);
});

const list = (args: Args = {}, owner = world.owner) =>
  call<{ projects: Project[]; rate: Row | null }>(db, owner, "list_projects", args);
const listPredictions = (args: Args = {}, user = world) =>
  call<{ predictions: Project[]; rate: Row | null }>(db, user.owner, "list_predictions", {
    project_id: world.project,
    ...args,
  });
const idsOf = (rows: { id: unknown }[]) => rows.map(({ id }) => id);

/** Reads page after page of two, as cursors do: with the time as the text it came as, whose microseconds no Date has. */
async function pages(from: string, key: string): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (let cursor: [string, string] | [null, null] = [null, null]; ; ) {
    const statement = `select keyframe.${from} max_rows => 2, before_created_at => $1::text::timestamptz, before_id => $2) as answer`;
    const page = await db.as({ role: "authenticated", sub: world.owner }, async (sql) => {
      const [row] = await sql.unsafe<{ answer: Record<string, Project[]> }[]>(statement, cursor);
      return row?.answer[key] ?? [];
    });
    seen.push(...idsOf(page));
    const last = page.at(-1);
    if (!last) return seen;
    cursor = [last.created_at, last.id];
  }
}

describe("list_projects", () => {
  test("a user's own projects, newest first, with every column, and no others", async () => {
    const newer = await addProject(db, world.owner);
    const { projects } = await list();
    expect(idsOf(projects)).toEqual([newer, world.project]);
    expect(projects[0]).toEqual({
      id: newer,
      owner_id: world.owner,
      title: "Harbour",
      text_prompt: "A harbour at dawn, fog, one red boat",
      description: "",
      reference_image_path: null,
      selected_first_frame_id: null,
      selected_last_frame_id: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(idsOf((await list({}, stranger.owner)).projects)).toEqual([stranger.project]);
  });

  test("page by page, several of one moment among them → each once, in order", async () => {
    for (let i = 0; i < 6; i++) await addProject(db, world.owner);
    await db.sql`update keyframe.projects set created_at = now() where owner_id = ${world.owner} and id > gen_random_uuid()`;
    const all = idsOf((await list({ max_rows: 100 })).projects);
    expect(all).toHaveLength(7);
    expect(await pages("list_projects(", "projects")).toEqual(all);
  });

  test("more rows than a page may have → 101, and 20 when nothing is said", async () => {
    await db.sql`
      insert into keyframe.projects (owner_id, title, text_prompt)
      select ${world.owner}, 'Harbour', 'p' from generate_series(1, 120)`;
    expect((await list({ max_rows: 1000 })).projects).toHaveLength(101);
    expect((await list()).projects).toHaveLength(20);
  });

  test("with_predictions → of each step the latest run, as read_prediction shows it; without → none", async () => {
    await seedPrediction(db.sql, world, { status: "succeeded", columns: { created_at: new Date(0) } });
    const frame = await seedPrediction(db.sql, world, { status: "failed" });
    const video = await seedPrediction(db.sql, world, {
      step: "video",
      status: "processing",
      columns: { first_frame_prediction_id: frame.id },
    });
    const [project] = (await list({ with_predictions: true })).projects;
    expect(project?.predictions?.map(({ id, step }) => [step, id])).toEqual([
      ["first-frame", frame.id],
      ["video", video.id],
    ]);
    expect(project?.predictions?.[1]).toMatchObject({ status: "processing", queue_position: null });
    expect(project?.predictions?.[1]).not.toHaveProperty("lease_token");
    expect((await list({ with_predictions: true }, stranger.owner)).projects[0]?.predictions).toEqual([]);
    expect((await list()).projects[0]).not.toHaveProperty("predictions");
  });
});

test("keyframe_private.latest_predictions of another user's project → none, though it is a definer", async () => {
  await seedPrediction(db.sql, world);
  const latest = (owner: string) =>
    db.as({ role: "authenticated", sub: owner }, async (sql) => {
      const [row] = await sql<
        { found: Row[] }[]
      >`select keyframe_private.latest_predictions(${world.project}) as found`;
      return row?.found;
    });
  expect(await latest(world.owner)).toHaveLength(1);
  expect(await latest(stranger.owner)).toEqual([]);
});

describe("read_project", () => {
  const read = (owner = world.owner) =>
    call<{ project: Project; predictions: Row[] }>(db, owner, "read_project", { project_id: world.project });

  test("the caller's own → the project and the latest run of each step", async () => {
    const { id } = await seedPrediction(db.sql, world);
    const { project, predictions } = await read();
    expect(project).toMatchObject({ id: world.project, title: "Harbour" });
    expect(predictions).toEqual([expect.objectContaining({ id, status: "queued", queue_position: 0 })]);
  });

  test("another user's, or none → not_found", async () => {
    expect(await codeOf(read(stranger.owner))).toBe("not_found");
    await db.sql`delete from keyframe.projects where id = ${world.project}`;
    expect(await codeOf(read())).toBe("not_found");
  });
});

describe("update_project", () => {
  const update = (changes: object, owner = world.owner) =>
    call<{ project: Project }>(db, owner, "update_project", { project_id: world.project, changes });

  test("one field → that one changes, the others stay, and updated_at moves", async () => {
    await db.sql`update keyframe.projects set description = 'Misty' where id = ${world.project}`;
    const [before] = await db.sql`select updated_at, created_at from keyframe.projects where id = ${world.project}`;
    const { project } = await update({ title: "Quay" });
    expect(project).toMatchObject({
      title: "Quay",
      description: "Misty",
      text_prompt: "A harbour at dawn, fog, one red boat",
    });
    expect(Date.parse(String(project.updated_at))).toBeGreaterThan(before?.updated_at.getTime());
    expect(Date.parse(project.created_at)).toBe(before?.created_at.getTime());
  });

  test("an empty description → it is emptied; an empty title → refused", async () => {
    expect((await update({ description: "", text_prompt: "A quay" })).project).toMatchObject({
      description: "",
      text_prompt: "A quay",
    });
    await expect(update({ title: "" })).rejects.toThrow("title_has_1_to_200_characters");
  });

  test("another user's → not_found, nothing changes", async () => {
    expect(await codeOf(update({ title: "Mine" }, stranger.owner))).toBe("not_found");
    expect((await list()).projects[0]?.title).toBe("Harbour");
  });

  test("through the Data API → the texts, dated; the owner and the dates are refused, other people's are not there", async () => {
    const patch = (set: string, owner = world.owner) =>
      db.as({ role: "authenticated", sub: owner }, (sql) =>
        sql.unsafe(
          `update keyframe.projects set ${set} where id = '${world.project}' returning updated_at > created_at as dated`,
        ),
      );
    expect([...(await patch("title = 'Quay'"))]).toEqual([{ dated: true }]);
    for (const column of ["owner_id", "id", "created_at", "updated_at"]) {
      await expect(patch(`${column} = ${column}`)).rejects.toThrow("permission denied");
    }
    expect((await patch("title = 'Mine'", stranger.owner)).count).toBe(0);
  });
});

describe("list_predictions", () => {
  const seedMany = async () => {
    for (const [step, seconds] of [
      ["first-frame", 5],
      ["last-frame", 4],
      ["first-frame", 3],
      ["first-frame", 3],
      ["last-frame", 2],
    ] as const) {
      const created_at = new Date(1_800_000_000_000 - seconds * 1000);
      await seedPrediction(db.sql, world, { status: "failed", step, columns: { created_at } });
    }
  };

  test("all steps, and one → newest first, each once page by page", async () => {
    await seedMany();
    const inOrder = async (step: string | null) =>
      idsOf(
        await db.sql<{ id: string }[]>`
          select id from keyframe.predictions where project_id = ${world.project} and (${step}::text is null or step::text = ${step})
          order by created_at desc, id desc`,
      );
    for (const step of [null, "first-frame", "last-frame", "video"]) {
      const all = await inOrder(step);
      expect(idsOf((await listPredictions({ step })).predictions)).toEqual(all);
      const wanted = step === null ? "" : `step => '${step}',`;
      const from = `list_predictions(project_id => '${world.project}', ${wanted}`;
      expect(await pages(from, "predictions")).toEqual(all);
    }
    expect(await inOrder("video")).toEqual([]);
  });

  test("each → as read_prediction shows it, without the inside of the worker", async () => {
    await seedPrediction(db.sql, world, { status: "storing" });
    const [prediction] = (await listPredictions()).predictions;
    expect(prediction).toMatchObject({ status: "storing", project_id: world.project, queue_position: null });
    for (const column of ["lease_token", "provider_output_url", "next_attempt_at"]) {
      expect(prediction).not.toHaveProperty(column);
    }
  });

  test("a project that is another user's, or none → not_found; the caller's own without any → an empty page", async () => {
    expect(await codeOf(listPredictions({}, stranger))).toBe("not_found");
    expect(await codeOf(listPredictions({ project_id: crypto.randomUUID() }))).toBe("not_found");
    expect((await listPredictions()).predictions).toEqual([]);
  });
});

describe("the rate limits", () => {
  const spent = async (route_class: string, capacity: number) => {
    await db.sql`update keyframe_private.rate_limits set capacity = ${capacity}, per_second = 0.001 where route_class = ${route_class}`;
  };
  const state = (route_class: string, capacity: number) =>
    db.sql`update keyframe_private.rate_limits set capacity = ${capacity}, per_second = ${capacity / 60} where route_class = ${route_class}`;

  test("reads → one token of class read each, and the answer says what is left", async () => {
    await spent("read", 3);
    expect((await list()).rate).toMatchObject({ policy: "read", limit: 3, remaining: 2 });
    expect((await listPredictions()).rate).toMatchObject({ policy: "read", remaining: 1 });
    const read = () => call<{ rate: Row }>(db, world.owner, "read_project", { project_id: world.project });
    expect((await read()).rate).toMatchObject({ policy: "read", remaining: 0 });
    expect(await codeOf(read())).toBe("rate_limited");
    await state("read", 1200);
  });

  test("changes and deletions, also through the Data API → one token of class change for each request", async () => {
    await spent("change", 3);
    const change = () =>
      call<{ rate: Row }>(db, world.owner, "update_project", { project_id: world.project, changes: { title: "Quay" } });
    expect((await change()).rate).toMatchObject({ policy: "change", limit: 3, remaining: 2 });
    const asUser = (statement: string) =>
      db.as({ role: "authenticated", sub: world.owner }, (sql) => sql.unsafe(statement));
    await asUser(`update keyframe.projects set title = 'Pier' where true`);
    const remove = () => call<{ rate: Row }>(db, world.owner, "delete_project", { project_id: world.project });
    expect((await remove()).rate).toMatchObject({ policy: "change", remaining: 0 });
    expect(await codeOf(change())).toBe("rate_limited");
    expect(await codeOf(asUser(`delete from keyframe.projects where true`))).toBe("rate_limited");
    await state("change", 120);
  });
});
