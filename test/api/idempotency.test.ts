import { beforeAll, expect, test } from "vitest";
import { prediction } from "../../shared/contract/predictions.ts";
import { project } from "../../shared/contract/projects.ts";
import { openDatabase } from "../support/api/database.ts";
import { drawImage } from "../support/media/images.ts";
import { providerRuns, uniquePrompt } from "../support/api/provider.ts";
import { signUp, type User } from "../support/api/user.ts";

const sql = openDatabase();
let user: User;
let projectId: string;
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject();
});

const PROJECT = { title: "Harbour", textPrompt: "A harbour at dawn", description: "Fog" };
const freshKey = () => ({ "idempotency-key": crypto.randomUUID() });
const countOf = async (table: "projects" | "predictions", owner: string) => {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from ${sql(`keyframe.${table}`)} where owner_id = ${owner}`;
  return row?.count;
};

test("POST /api/projects twice with one key → 201 twice, the second marked as replayed, one project", async () => {
  const key = freshKey();
  const before = await countOf("projects", user.id);
  const first = await user.post("/api/projects", PROJECT, key);
  const second = await user.post("/api/projects", PROJECT, key);
  expect([first.status, first.headers.get("idempotency-replayed")]).toEqual([201, null]);
  expect([second.status, second.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
  expect(second.data).toEqual(first.data);
  expect(await countOf("projects", user.id)).toBe((before ?? 0) + 1);
});

test("the same fields in another order and with other white space → replayed", async () => {
  const headers = { ...freshKey(), "content-type": "application/json" };
  const first = await user.call("/api/projects", { body: JSON.stringify(PROJECT), headers });
  const turned = JSON.stringify(Object.fromEntries(Object.entries(PROJECT).reverse()), null, 2);
  const second = await user.call("/api/projects", { body: turned, headers });
  expect(second.headers.get("idempotency-replayed")).toBe("true");
  expect(second.data).toEqual(first.data);
});

test("the same request without a key twice → two projects", async () => {
  const [first, second] = await Promise.all([user.post("/api/projects", PROJECT), user.post("/api/projects", PROJECT)]);
  expect(project.parse(first.data).projectId).not.toBe(project.parse(second.data).projectId);
});

test("one key for another body or another path → 422 idempotency_mismatch, and nothing is made", async () => {
  const key = freshKey();
  await user.post("/api/projects", PROJECT, key);
  const before = [await countOf("projects", user.id), await countOf("predictions", user.id)];
  const replies = await Promise.all([
    user.post("/api/projects", { ...PROJECT, description: "" }, key),
    user.post("/api/projects/generate/first-frame", { projectId }, key),
    user.call("/api/projects/reference-images", {
      body: await drawImage(),
      headers: { "content-type": "image/png", ...key },
    }),
  ]);
  expect(replies.map(({ status, error }) => [status, error?.code])).toEqual(
    replies.map(() => [422, "idempotency_mismatch"]),
  );
  expect([await countOf("projects", user.id), await countOf("predictions", user.id)]).toEqual(before);
});

test("one key for first-frame and last-frame of equal bodies → 422: the path belongs to the request", async () => {
  const key = freshKey();
  const body = { projectId, prompt: uniquePrompt() };
  expect((await user.post("/api/projects/generate/first-frame", body, key)).status).toBe(202);
  expect((await user.post("/api/projects/generate/last-frame", body, key)).error?.code).toBe("idempotency_mismatch");
});

test("another user's equal key → a project of their own, not replayed", async () => {
  const key = freshKey();
  const other = await signUp();
  const mine = await user.post("/api/projects", PROJECT, key);
  const theirs = await other.post("/api/projects", PROJECT, key);
  expect([theirs.status, theirs.headers.get("idempotency-replayed")]).toEqual([201, null]);
  expect(project.parse(theirs.data).projectId).not.toBe(project.parse(mine.data).projectId);
  expect(await countOf("projects", other.id)).toBe(1);
});

test("50 equal starts at once → 50 × 202 with one prediction, one token, one run at the provider", async () => {
  const eager = await signUp();
  const body = { projectId: await eager.createProject(), prompt: uniquePrompt() };
  const key = freshKey();
  const replies = await Promise.all(
    Array.from({ length: 50 }, () => eager.post("/api/projects/generate/first-frame", body, key)),
  );
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([202]));
  const started = replies.map(({ data }) => prediction.parse(data));
  expect(new Set(started.map(({ predictionId }) => predictionId)).size).toBe(1);
  expect(replies.filter(({ headers }) => headers.get("idempotency-replayed") === "true").length).toBe(49);
  expect(replies.filter(({ headers }) => headers.get("idempotency-replayed") === null).length).toBe(1);
  expect(await countOf("predictions", eager.id)).toBe(1);

  const [one] = started;
  if (!one) throw new Error("There was no reply.");
  const finished = await eager.finish(one);
  expect([finished.status, finished.attempt]).toEqual(["succeeded", 1]);
  expect(await providerRuns(body.prompt)).toHaveLength(1);
  const [bucket] = await sql<{ tokens: number }[]>`
    select tokens from keyframe_private.rate_buckets where owner_id = ${eager.id} and route_class = 'generate'`;
  expect(bucket?.tokens).toBe(59);
});

test("a start repeated after its end → 202 with the finished prediction and its output, no new run", async () => {
  const key = freshKey();
  const body = { projectId, prompt: uniquePrompt() };
  const first = prediction.parse((await user.post("/api/projects/generate/first-frame", body, key)).data);
  await user.finish(first);
  const { status, headers, data } = await user.post("/api/projects/generate/first-frame", body, key);
  const again = prediction.parse(data);
  expect([status, headers.get("idempotency-replayed"), headers.get("retry-after")]).toEqual([202, "true", null]);
  expect([again.predictionId, again.status]).toEqual([first.predictionId, "succeeded"]);
  expect((await fetch(again.output?.url ?? "")).status).toBe(200);
  expect(await providerRuns(body.prompt)).toHaveLength(1);
});

test("a request that was refused does not use its key up → the same key works once the reason is gone", async () => {
  const own = await user.createProject();
  const key = freshKey();
  const prompt = uniquePrompt("[[fault:rejected]]"); // the provider makes no film of it, which would only take time
  const video = () => user.post("/api/projects/generate/video", { projectId: own, prompt }, key);
  expect((await video()).error?.code).toBe("frame_not_ready");
  await user.finish(await user.start("first-frame", { projectId: own }));
  const { status, headers } = await video();
  expect([status, headers.get("idempotency-replayed")]).toEqual([202, null]);
});

test("a key of more than 24 hours ago → a new project", async () => {
  const key = freshKey();
  const first = await user.post("/api/projects", PROJECT, key);
  await sql`
    update keyframe_private.idempotency_keys set created_at = now() - interval '24 hours 1 second'
    where owner_id = ${user.id} and key = ${key["idempotency-key"]}`;
  const second = await user.post("/api/projects", { ...PROJECT, title: "Lighthouse" }, key);
  expect([second.status, second.headers.get("idempotency-replayed")]).toEqual([201, null]);
  expect(project.parse(second.data).projectId).not.toBe(project.parse(first.data).projectId);
});

test("the same image twice with one key → one file; another image → 422", async () => {
  const headers = { "content-type": "image/png", ...freshKey() };
  const image = await drawImage();
  const first = await user.call("/api/projects/reference-images", { body: image, headers });
  const second = await user.call("/api/projects/reference-images", { body: image, headers });
  expect([second.status, second.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
  expect(second.data).toEqual(first.data);
  const third = await user.call("/api/projects/reference-images", { body: await drawImage(), headers });
  expect([third.status, third.error?.code]).toEqual([422, "idempotency_mismatch"]);
});

test.each([
  ["of 1 character", "k", 201],
  ["of 255 characters", "k".repeat(255), 201],
  ["with every kind of visible character", "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~", 201],
  ["that is empty", "", 400],
  ["of 256 characters", "k".repeat(256), 400],
  ["with a space", "a b", 400],
  ["with a tab", "a\tb", 400],
  ["with a letter beyond ASCII", "clé", 400],
])("a key %s → the status that its rule says", async (_name, key, status) => {
  const before = await countOf("projects", user.id);
  const { error, ...reply } = await user.post("/api/projects", PROJECT, { "idempotency-key": key });
  expect([reply.status, error?.details?.[0]?.path]).toEqual([status, status === 400 ? "Idempotency-Key" : undefined]);
  expect(await countOf("projects", user.id)).toBe((before ?? 0) + (status === 400 ? 0 : 1));
});

test("a bad key for a cancel → 400, and nothing is canceled", async () => {
  const { predictionId } = await user.start("first-frame", { projectId, prompt: uniquePrompt() });
  const body = { projectId, predictionId };
  const reply = await user.post("/api/projects/generate/cancel", body, { "idempotency-key": "" });
  expect(reply.status).toBe(400);
  expect((await user.read("first-frame", projectId, predictionId)).status).not.toBe("canceled");
});
