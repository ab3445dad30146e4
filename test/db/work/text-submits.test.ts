import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { clearPredictions } from "../../support/database/empty-tables.ts";
import {
  claim,
  endSearch,
  makeDue,
  makeSearchesDue,
  providerSays,
  readRow,
  retryLater,
  runsToCancel,
  type Saying,
  submitsOf,
} from "../../support/database/calls.ts";
import { addWorld, type Input, seedPrediction, type World } from "../../support/database/predictions.ts";

// A run in the provider's list with only an equal text belongs to a prediction if no other one submitted that text.
const db = useDatabase();
let ours: World;
let theirs: World;
beforeAll(async () => {
  ours = await addWorld(db);
});
beforeEach(async () => {
  await clearPredictions(db.sql);
  theirs = await addWorld(db);
});

/** A prediction that `generate` has just been handed, to submit it. */
async function submit(world: World, input: Partial<Input> = {}, attempt = 0): Promise<{ id: string; lease: string }> {
  const { id } = await seedPrediction(db.sql, world, { columns: { attempt, lease_token: null }, input });
  const task = (await claim(db.sql, 100)).find((claimed) => claimed.id === id);
  expect(task).toMatchObject({ task: "submit" });
  return { id, lease: task?.lease_token ?? "" };
}

/** The same, and the answer to its submit is lost. */
async function loseAnswer(world: World): Promise<string> {
  const { id, lease } = await submit(world);
  await retryLater(db.sql, id, lease, { code: "provider_unreachable", answered: false });
  return id;
}

const found = (id: string, more: Partial<Saying> = {}) =>
  providerSays(db.sql, { id, run: "run-in-list", foundBy: "text", ...more });
const known = async () =>
  await db.sql`select provider_prediction_id as run from keyframe_private.provider_submits where provider_prediction_id is not null`;
const letPass = (hours: number) => db.sql`
  update keyframe_private.provider_submits set submitted_at = submitted_at - make_interval(hours => ${hours})`;

const cancel = (id: string) => db.sql`select keyframe_private.mark_canceled(${id})`;
const followAnother = (id: string) => providerSays(db.sql, { id, run: "run-second" });
const deleteAccount = ({ owner }: World) => db.sql`delete from auth.users where id = ${owner}`;
/** What has become of another prediction that submitted the same text, so that the run may be its own. */
const OTHERS: [string, (world: World) => Promise<unknown>][] = [
  ["is being submitted", (world) => submit(world)],
  ["lost its answer, too", (world) => loseAnswer(world)],
  ["lost its answer, too, and is of the same owner", () => loseAnswer(ours)],
  ["lost its answer, and follows another run by now", async (world) => followAnother(await loseAnswer(world))],
  ["lost its answer, and was canceled", async (world) => cancel(await loseAnswer(world))],
  [
    "lost its answer, was canceled, and its search has ended",
    async (world) => {
      const id = await loseAnswer(world);
      await cancel(id);
      await endSearch(db.sql, id);
    },
  ],
  ["lost its answer, and its account was deleted", (world) => loseAnswer(world).then(() => deleteAccount(world))],
  [
    "lost its answer, follows another run, and its account was deleted",
    (world) =>
      loseAnswer(world)
        .then(followAnother)
        .then(() => deleteAccount(world)),
  ],
];
test.each(OTHERS)(
  "another prediction with a found run's text %s → unproven: the run is not followed, recorded or canceled",
  async (_what, begin) => {
    await begin(theirs);
    const id = await loseAnswer(ours);
    const before = [await known(), await runsToCancel(db.sql)];
    expect(await found(id)).toBe("unproven");
    expect(await readRow(db.sql, id)).toMatchObject({ status: "queued", provider_prediction_id: null });
    for (const end of ["select keyframe_private.mark_canceled($1)", "delete from keyframe.predictions where id = $1"]) {
      await db.sql.unsafe(end, [id]);
      expect(await found(id)).toBe("unproven");
    }
    expect([await known(), await runsToCancel(db.sql)]).toEqual(before);
    // One that names ours is recorded all the same.
    expect(await found(id, { foundBy: "name" })).toBe("ended");
    expect(await runsToCancel(db.sql)).toContain("run-in-list");
  },
);

test.each<[string, (world: World) => Promise<unknown>]>([
  ["another text", (world) => submit(world, { prompt: "A pier" })],
  ["the same text and a picture", (world) => submit(world, { referenceImagePaths: ["projects/a.png"] })],
  [
    "the same text, and waits to be submitted",
    (world) => seedPrediction(db.sql, world, { columns: { admitted_at: null, deadline_at: null, lease_token: null } }),
  ],
])("a found run, while another prediction has %s → the run cannot be the other's: recorded", async (_what, begin) => {
  await begin(theirs);
  expect(await found(await loseAnswer(ours))).toBe("recorded");
});

test("a found run for a submit of more than an hour ago → unproven, as the provider has deleted the inputs; recent → recorded", async () => {
  const id = await loseAnswer(theirs);
  await letPass(2);
  expect(await found(id)).toBe("unproven");
  expect(await found(await loseAnswer(ours))).toBe("recorded");
});

test("a found run with the text of a prediction that follows another run by now → unproven, and not canceled", async () => {
  const id = await loseAnswer(ours);
  await providerSays(db.sql, { id, run: "run-second", attempt: 1 });
  expect(await found(id)).toBe("unproven");
  expect(await runsToCancel(db.sql)).toEqual([]);
});

test("the pruning deletes the hash of a text after three hours, not before", async () => {
  const id = await loseAnswer(ours);
  const hasHash = async () => (await submitsOf(db.sql, id)).map(({ text_hash }) => text_hash !== null);
  await letPass(2);
  await db.sql`select keyframe_private.prune()`;
  expect(await hasHash()).toEqual([true, false]); // the next one waits
  await makeDue(db.sql, id);
  await claim(db.sql, 100); // submits it again
  await letPass(2);
  await db.sql`select keyframe_private.prune()`;
  expect(await hasHash()).toEqual([false, true]);
});

describe("a prediction canceled or deleted during a submit", () => {
  const searches = async () => {
    await makeSearchesDue(db.sql);
    return (await claim(db.sql, 100)).flatMap(({ task, id }) => (task === "search" ? [id] : []));
  };
  const deleteIt = (id: string) => db.sql`delete from keyframe.predictions where id = ${id}`;
  const AFTER: [string, number, Partial<Saying>, boolean][] = [
    ["its answer or a callback comes → nothing is searched for, because the run is known", 0, {}, false],
    ["a callback of an earlier attempt comes → the last one is searched for", 1, {}, true],
    ["its run is found → nothing more is searched for", 0, { foundBy: "name" }, false],
  ];
  const ended = AFTER.flatMap(([then, ...after]) => [
    ["canceled", then, cancel, ...after] as const,
    ["deleted", then, deleteIt, ...after] as const,
  ]);
  test.each(ended)(
    "a prediction is %s during its submit, then %s",
    async (_how, _then, end, attempt, said, isSearched) => {
      const { id } = await submit(ours, {}, attempt);
      await end(id);
      expect(await providerSays(db.sql, { id, run: "run-a", attempt: 1, ...said })).toBe("ended");
      expect(await searches()).toEqual(isSearched ? [id] : []);
    },
  );
});
