import { beforeAll, expect, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { walkPages } from "../support/api/pages.ts";
import { listPredictions } from "../support/api/projects.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp, type User } from "../support/api/user.ts";
import { seedPrediction } from "../support/database/predictions.ts";
import { download } from "../support/film/ending.ts";

const sql = openDatabase();
let user: User;
let projectId: string;
/** Newest first: a first frame that succeeded, a last frame that failed, a first frame that runs. */
let made: { predictionId: string; status: string }[];
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject();
  const succeeded = await user.finish(await user.start("first-frame", { projectId }));
  const prompt = uniquePrompt("[[fault:failed]]");
  const failed = await user.finish(await user.start("last-frame", { projectId, prompt }));
  made = [await startStuck(sql, user, "first-frame", projectId), failed, succeeded];
});

const idsOf = (predictions: { predictionId: string }[]) => predictions.map(({ predictionId }) => predictionId);

test("GET predictions → 200 with all that ran, newest first, each as in its own status read", async () => {
  const { predictions, nextCursor } = await listPredictions(user, projectId);
  expect([idsOf(predictions), nextCursor]).toEqual([idsOf(made), null]);
  expect(predictions.map(({ status }) => status)).toEqual(["starting", "failed", "succeeded"]);
  const alone = await user.read("last-frame", projectId);
  expect(predictions[1]).toEqual(alone);
  const succeeded = predictions[2];
  if (succeeded) await download(succeeded);
});

test.each([
  ["first-frame", [0, 2]],
  ["last-frame", [1]],
  ["video", []],
])("step=%s → that step's alone", async (step, wanted) => {
  const { predictions } = await listPredictions(user, projectId, { step });
  expect(idsOf(predictions)).toEqual(wanted.map((at) => made[at]?.predictionId));
});

test("a project without predictions → an empty page", async () => {
  const empty = await user.createProject();
  expect(await listPredictions(user, empty)).toEqual({ predictions: [], nextCursor: null });
});

test("page by page, of all or of one step → each once, though many share a moment or differ by a microsecond", async () => {
  const crowded = await user.createProject();
  for (const [at, step] of [
    ["2026-01-01T00:00:00.000001Z", "first-frame"],
    ["2026-01-01T00:00:00.000001Z", "last-frame"],
    ["2026-01-01T00:00:00.000001Z", "first-frame"],
    ["2026-01-01T00:00:00.000001Z", "first-frame"],
    ["2026-01-01T00:00:00.000002Z", "last-frame"],
    ["2026-01-01T00:00:00.000003Z", "first-frame"],
    ["2026-01-01T00:00:00.000003Z", "first-frame"],
  ] as const) {
    const world = { owner: user.id, project: crowded };
    const { id } = await seedPrediction(sql, world, { status: "canceled", step });
    // As text: postgres.js would cut a timestamptz to milliseconds.
    await sql`update keyframe.predictions set created_at = ${at}::text::timestamptz where id = ${id}`;
  }
  for (const step of [null, "first-frame", "last-frame"]) {
    const rows = await sql<{ id: string }[]>`
      select id from keyframe.predictions where project_id = ${crowded} and (${step}::text is null or step::text = ${step})
      order by created_at desc, id desc`;
    for (const limit of [1, 2, rows.length, rows.length + 1]) {
      const pages = await walkPages(async (query) => {
        const filter = { ...query, limit: String(limit), ...(step === null ? {} : { step }) };
        const { predictions, nextCursor } = await listPredictions(user, crowded, filter);
        return { ids: idsOf(predictions), nextCursor };
      });
      expect(pages.flat()).toEqual(rows.map(({ id }) => id));
      expect(pages.length).toBe(Math.ceil(rows.length / limit));
    }
  }
});
