import { expect, test } from "vitest";
import { type Prediction, prediction } from "../../shared/contract/predictions.ts";
import { openDatabase } from "../support/api/database.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { startStuck } from "../support/api/stuck.ts";
import { useUser } from "../support/api/user.ts";
import { download } from "../support/film/ending.ts";

const sql = openDatabase();
const user = useUser();

test("POST with Prefer: wait=20 → 202 with the ended prediction and its output: one request is all it takes", async () => {
  const body = { projectId: await user.createProject(), prompt: uniquePrompt() };
  const { status, headers, data } = await user.post("/api/projects/generate/first-frame", body, { prefer: "wait=20" });
  expect([status, headers.get("preference-applied"), headers.get("retry-after")]).toEqual([202, "wait=20", null]);
  expect(headers.get("ratelimit")).toMatch(/^"generate";r=\d+;t=\d+$/);
  const ended = prediction.parse(data);
  expect(ended).toMatchObject({ status: "succeeded", progress: 1 });
  await download(ended);
  expect(headers.get("location")).toContain(ended.predictionId);
});

test("GET with Prefer: wait=20 → held, and answered as soon as the status changes; with wait=1 after a second", async () => {
  const projectId = await user.createProject();
  const { predictionId } = await startStuck(sql, user, "first-frame", projectId);
  const path = `/api/projects/generate/first-frame?${new URLSearchParams({ projectId, predictionId })}`;
  const read = async (prefer: string) => {
    const began = performance.now();
    const { headers, data } = await user.call(path, { headers: { prefer } });
    const seconds = (performance.now() - began) / 1000;
    return { seconds, applied: headers.get("preference-applied"), status: (data as Prediction).status };
  };
  let isOver = false;
  const held = read("wait=20").finally(() => {
    isOver = true;
  });
  const short = await read("wait=1"); // a second in which nothing happens
  expect([short.applied, short.status, short.seconds > 0.95, isOver]).toEqual(["wait=1", "starting", true, false]);
  await user.post("/api/projects/generate/cancel", { projectId, predictionId });
  const { seconds, ...answer } = await held;
  expect(answer).toEqual({ applied: "wait=20", status: "canceled" });
  expect(seconds).toBeLessThan(20);
});

test("a user with as many waits as are allowed → a further wait is held for its time, and answered with the state", async () => {
  const projectId = await user.createProject();
  const { predictionId } = await startStuck(sql, user, "first-frame", projectId);
  await sql`
    insert into keyframe_private.rate_buckets (owner_id, route_class, tokens, refilled_at) values (${user.id}, 'wait', -1000, now())
    on conflict (owner_id, route_class) do update set tokens = excluded.tokens`;
  const began = performance.now();
  const path = `/api/projects/generate/first-frame?${new URLSearchParams({ projectId, predictionId })}`;
  const { status, headers, data } = await user.call(path, { headers: { prefer: "wait=2" } });
  expect([status, (data as Prediction).status, headers.get("ratelimit")]).toEqual([
    ...[200, "starting"],
    expect.stringMatching(/^"read";/),
  ]);
  expect(performance.now() - began).toBeGreaterThan(1_950);
});
