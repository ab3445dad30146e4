import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { clearPredictions } from "../../support/database/empty-tables.ts";
import {
  claim,
  endSearch,
  makeSearchesDue,
  providerSays,
  readRow,
  runsToCancel,
  submitsOf,
  workOf,
} from "../../support/database/calls.ts";
import { useWorld, type Row, seedPrediction } from "../../support/database/predictions.ts";

// No paid run without a row, also when the prediction goes while a submit of it has no answer.
const db = useDatabase();
const world = useWorld(db);
beforeEach(() => clearPredictions(db.sql));

const SINCE = new Date(Date.now() - 60_000);
const inAMinute = () => new Date(Date.now() + 60_000);

/** A prediction with an unanswered submit. */
const seedUnanswered = (columns: Row = {}, prompt = "A pier at night") =>
  seedPrediction(db.sql, world, { columns: { due_at: inAMinute(), ...columns }, input: { prompt }, unanswered: SINCE });
const deleteIt = (id: string) => db.sql`delete from keyframe.predictions where id = ${id}`;
const deleteAccount = () => db.sql`delete from auth.users where id = ${world.owner}`;

/** What is to be searched for at the provider. */
const searches = async () => (await claim(db.sql)).filter(({ task }) => task === "search");
const searchOf = async (id: string) => (await workOf(db.sql, id)).find(({ kind }) => kind === "search") ?? {};
/** Who deletes it, and how. The user has to cancel first: their own deletion is refused while it runs. */
const DELETIONS: [string, (id: string) => PromiseLike<unknown>][] = [
  [
    "canceled and its project deleted by its user",
    (id) =>
      db.asUser(world.owner, async (sql) => {
        await sql`select keyframe.cancel_prediction(${world.project}, ${id})`;
        await sql`select keyframe.delete_project(${world.project})`;
      }),
  ],
  ["its project deleted in Studio", () => db.sql`delete from keyframe.projects where id = ${world.project}`],
  ["itself deleted in Studio", deleteIt],
  ["its owner's account deleted", deleteAccount],
];

describe.each(DELETIONS)("a prediction that is %s during its submit", (_how, remove) => {
  test("a prediction ends during a submit, whose answer comes later → “ended”, and the run is to be canceled", async () => {
    const { id } = await seedUnanswered();
    await remove(id);
    expect(await providerSays(db.sql, { id, run: "run-late", status: "starting" })).toBe("ended");
    expect(await runsToCancel(db.sql)).toEqual(["run-late"]);
  });

  test("a prediction ends during a submit that is never answered → searched for after the lease, until the search is recorded", async () => {
    const { id } = await seedUnanswered();
    await remove(id);
    expect(await searches()).toEqual([]);
    await makeSearchesDue(db.sql);
    const [task] = await searches();
    expect(task).toMatchObject({
      ...{ task: "search", id, attempt: 1, step: "first-frame" },
      ...{ model: "google/nano-banana", input: { prompt: "A pier at night" }, has_images: false },
      model_settings: { controls: { prompt: { field: "prompt" } } },
    });
    expect(new Date(String(task?.search_since))).toEqual(SINCE);
    expect(await searches()).toEqual([]);
    await makeSearchesDue(db.sql);
    expect(await searches()).toMatchObject([{ id }]);
    const { lease_token } = await searchOf(id);
    for (let recorded = 0; recorded < 2; recorded++) await endSearch(db.sql, id, { lease: String(lease_token) });
    await makeSearchesDue(db.sql);
    expect(await searches()).toEqual([]);
    // The prompt has gone with it; a run that calls back late is known all the same.
    expect(await submitsOf(db.sql, id)).toMatchObject([
      { owner_id: world.owner, project_id: world.project, outcome: "lost", search_task: null },
    ]);
    expect(await providerSays(db.sql, { id, run: "run-late" })).toBe("ended");
    expect(await runsToCancel(db.sql)).toEqual(["run-late"]);
  });
});

describe("callbacks for a deleted prediction with an unanswered submit", () => {
  const says = (id: string, more: Partial<Parameters<typeof providerSays>[1]> = {}) =>
    providerSays(db.sql, { id, run: "run-a", ...more });
  const deleted = async (columns: Row = {}) => {
    const { id } = await seedUnanswered(columns);
    await deleteIt(id);
    return id;
  };

  test("a deleted prediction's two runs of two attempts, and one that has ended → all recorded, the two are to be canceled", async () => {
    const id = await deleted({ attempt: 2 });
    for (const attempt of [1, 2]) expect(await says(id, { attempt, run: `run-${attempt}` })).toBe("ended");
    expect(await says(id, { run: "run-over", status: "succeeded" })).toBe("ended");
    expect(await runsToCancel(db.sql)).toEqual(["run-1", "run-2"]);
    const submits = (await submitsOf(db.sql, id)).map((one) => `${one.provider_prediction_id} ${one.outcome}`);
    expect(submits.toSorted()).toEqual(["run-1 null", "run-2 null", "run-over succeeded"]);
  });

  test("a deleted prediction's run is canceled, and a callback is sent again → not canceled twice", async () => {
    const id = await deleted();
    for (const status of ["processing", "canceled", "processing"]) expect(await says(id, { status })).toBe("ended");
    expect(await runsToCancel(db.sql)).toEqual([]);
  });

  test("a deleted prediction's unknown attempt, or another prediction's run → unknown, and nothing is recorded", async () => {
    const id = await deleted();
    const other = await seedPrediction(db.sql, world, { status: "processing" });
    expect(await says(id, { attempt: 2 })).toBe("unknown");
    expect(await says(id, { run: other.run ?? "" })).toBe("unknown");
    expect(await runsToCancel(db.sql)).toEqual([]);
    expect(await readRow(db.sql, other.id)).toMatchObject({ status: "processing" });
  });
});

test("a deleted last frame with a reference image → the search for its run knows that it had images", async () => {
  const frame = await seedPrediction(db.sql, world, { status: "succeeded" });
  const input = { firstFramePredictionId: frame.id, referenceImagePaths: ["projects/a.png"] };
  await seedPrediction(db.sql, world, { step: "last-frame", unanswered: SINCE, input });
  await deleteAccount();
  await makeSearchesDue(db.sql);
  expect(await searches()).toMatchObject([{ has_images: true }]);
});

test("a prediction deleted before its submit, during its run or after it → its submit is kept, with nothing to search for", async () => {
  const waiting = await seedPrediction(db.sql, world, { columns: { attempt: 0, lease_token: null } });
  const running = await seedPrediction(db.sql, world, { status: "processing" });
  const over = await seedPrediction(db.sql, world, { status: "succeeded" });
  await deleteAccount();
  expect(await searches()).toEqual([]);
  expect(await submitsOf(db.sql, waiting.id)).toMatchObject([{ outcome: "no_run", submitted_at: null }]);
  expect(await submitsOf(db.sql, over.id)).toMatchObject([{ outcome: "succeeded" }]);
  // The provider says how the run of a deleted prediction ended.
  const metrics = { predict_time: 2 };
  const says = { id: running.id, run: running.run ?? "", status: "canceled", metrics };
  expect(await providerSays(db.sql, says)).toBe("ended");
  expect(await submitsOf(db.sql, running.id)).toMatchObject([{ outcome: "canceled", metrics }]);
});

test("a deleted prediction whose model's row is deleted, too → still searched for, with the settings that the model had", async () => {
  await db.sql`
    insert into keyframe.models (step, model, label, vendor, controls)
    values ('first-frame', 'short/lived', 'Short', 'Lived', '{"prompt": {"field": "text"}}')`;
  await seedUnanswered({ model: "short/lived", due_at: SINCE });
  await deleteAccount();
  await db.sql`delete from keyframe.models where model = 'short/lived'`;
  const model_settings = { controls: { prompt: { field: "text" } } };
  expect(await searches()).toMatchObject([{ model: "short/lived", model_settings }]);
});

test("a prediction's id is used again and deleted again → the runs of both are searched for", async () => {
  const { id } = await seedUnanswered({ attempt: 3 });
  await deleteIt(id);
  await seedUnanswered({ id, attempt: 1 }, "A pier by day");
  await deleteIt(id);
  await makeSearchesDue(db.sql);
  const sought = (await searches()).map(({ attempt, input }) => `${attempt} ${(input as { prompt: string }).prompt}`);
  expect(sought.toSorted()).toEqual(["1 A pier by day", "3 A pier at night"]);
  expect(await providerSays(db.sql, { id, attempt: 3, run: "run-3" })).toBe("ended");
});
