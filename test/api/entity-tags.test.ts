import { beforeAll, expect, inject, test } from "vitest";
import { type Prediction, prediction } from "../../shared/contract/predictions.ts";
import { sendToApi } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { readReply } from "../support/api/envelope.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp, type User } from "../support/api/user.ts";
import { until } from "../support/until.ts";

const sql = openDatabase();
let user: User;
let projectId: string;
let running: Prediction;
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject();
  running = await startStuck(sql, user, "last-frame", projectId);
});

const pathOf = ({ step, projectId, predictionId }: Prediction) =>
  `/api/projects/generate/${step}?${new URLSearchParams({ projectId, predictionId })}`;

const send = (of: Prediction, headers: Record<string, string> = {}, method = "GET") =>
  sendToApi(pathOf(of), { method, token: user.token, headers });

async function read(of: Prediction, tag?: string) {
  const { status, headers, data } = await readReply(await send(of, tag === undefined ? {} : { "if-none-match": tag }));
  expect(status).toBe(200);
  return { tag: headers.get("etag") ?? "", data: prediction.parse(data) };
}

async function expectUnchanged(response: Response, tag: string): Promise<void> {
  expect([response.status, await response.text(), response.headers.get("etag")]).toEqual([304, "", tag]);
  expect(response.headers.get("content-type")).toBeNull();
}

test("two GETs of a running prediction → the same weak ETag; with it GET and HEAD → 304 with Retry-After, without a body", async () => {
  const { tag } = await read(running);
  expect(tag).toMatch(/^W\/"[\x21\x23-\x7e]+"$/);
  expect((await read(running)).tag).toBe(tag);
  const response = await send(running, { "if-none-match": tag });
  expect(response.headers.get("retry-after")).toBe("1");
  expect(response.headers.get("ratelimit-policy")).toMatch(/^"read";q=\d+;w=\d+$/);
  await expectUnchanged(response, tag);
  await expectUnchanged(await send(running, { "if-none-match": tag }, "HEAD"), tag);
});

test("the ETag of a POST's answer → valid for the first poll; each next one → 304 until the prediction changes, then 200", async () => {
  const busy = await signUp();
  const own = await busy.createProject();
  const stuck = await Promise.all(Array.from({ length: 4 }, () => startStuck(sql, busy, "first-frame", own)));
  const reply = await busy.post("/api/projects/generate/first-frame", { projectId: own });
  const location = new URL(
    reply.headers.get("location") ?? "",
    `${inject("stack").url}/functions/v1/api/projects/generate/first-frame`,
  );
  const poll = (tag: string) =>
    fetch(location, { headers: { authorization: `Bearer ${busy.token}`, "if-none-match": tag } });
  let tag = reply.headers.get("etag") ?? "";
  for (const _ of ["first", "second", "third"]) await expectUnchanged(await poll(tag), tag);

  await busy.post("/api/projects/generate/cancel", { projectId: own, predictionId: stuck[0]?.predictionId });
  const tags = [tag];
  const ended = await until("the end, by polling with the last ETag", async () => {
    const response = await poll(tag);
    if (response.status === 304) {
      await expectUnchanged(response, tag);
      return undefined;
    }
    const next = await readReply(response);
    tag = next.headers.get("etag") ?? "";
    expect(tags).not.toContain(tag); // a 200 is a change
    tags.push(tag);
    const now = prediction.parse(next.data);
    return now.completedAt === null ? undefined : now;
  });
  expect(ended.status).toBe("succeeded");
  await expectUnchanged(await poll(tag), tag);
});
