import { beforeAll, expect, test } from "vitest";
import { filmEstimate, startedFilm } from "../../shared/contract/films.ts";
import { startedPrediction } from "../../shared/contract/predictions.ts";
import { dataOf, type Reply } from "../support/api/envelope.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { signUp, type User } from "../support/api/user.ts";

let user: User;
let projectId: string;
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject();
});

const START = "/api/projects/generate/first-frame";
const startedBy = (reply: Reply) => startedPrediction.parse(dataOf(reply, 202));

test("a start with count 3 → the first take and all three; repeated after their end → each with its file", async () => {
  const body = { projectId, prompt: uniquePrompt(), count: 3 };
  const headers = { "idempotency-key": crypto.randomUUID() };
  const reply = await user.post(START, body, headers);
  const { predictions = [], ...first } = startedBy(reply);
  expect(first).toEqual(predictions[0]);
  expect(new Set(predictions.map(({ predictionId }) => predictionId)).size).toBe(3);
  expect(reply.headers.get("location")).toContain(first.predictionId);
  const ended = await Promise.all(predictions.map(user.finish));
  expect(ended.map(({ status }) => status)).toEqual(["succeeded", "succeeded", "succeeded"]);
  const again = startedBy(await user.post(START, body, headers)).predictions ?? [];
  expect(again.map(({ output }) => output?.path)).toEqual(ended.map(({ output }) => output?.path));
});

test("a start without count → the answer has no predictions", async () => {
  const { data } = await user.post(START, { projectId, prompt: uniquePrompt("[[fault:rejected]]") });
  expect(Object(data)).not.toHaveProperty("predictions");
});

test("a film with shots that cannot start → its estimate names them, a start is refused, a quote starts the others once", async () => {
  const filmId = await user.createFilm();
  const ready = await user.createProject({ filmId });
  const bare = await user.createProject({ filmId });
  await user.finish(await user.start("first-frame", { projectId: ready }));
  const path = `/api/films/${filmId}/generate/video`;
  const estimate = filmEstimate.parse(dataOf(await user.call(`${path}/estimate`, { method: "POST" }), 200));
  expect(estimate.shots.map((shot) => [shot.projectId, shot.error?.code])).toEqual([
    [ready, undefined],
    [bare, "frame_not_ready"],
  ]);
  const refused = await user.post(path, {});
  expect([refused.status, refused.error?.code]).toEqual([409, "frame_not_ready"]);
  expect(refused.error?.message).toContain("shot 2.");
  const quotes = [];
  for (const body of [{}, {}, { projectIds: [bare] }])
    quotes.push(filmEstimate.parse(dataOf(await user.post(`${path}/estimate?quote=true`, body), 200)));
  const [quote, late, none] = quotes.map(({ quoteId, atMostMicros }) => ({ quoteId, atMostMicros }));
  expect([estimate.quoteId, none?.quoteId]).toEqual([null, null]);
  const { predictions } = startedFilm.parse(dataOf(await user.post("/api/projects/generate/quote", quote), 202));
  expect(predictions.map((one) => [one.projectId, one.step, one.cost?.atMostMicros])).toEqual([
    [ready, "video", estimate.atMostMicros],
  ]);
  expect((await user.post("/api/projects/generate/quote", late)).error?.code).toBe("precondition_failed");
  const { predictions: others } = startedFilm.parse(dataOf(await user.post(path, { projectIds: [ready] }), 202));
  expect(others).toEqual([]); // it lacks no video now
});
