import { afterAll, beforeEach, expect, test } from "vitest";
import { createClock } from "./api-clock.ts";
import {
  NOW,
  PREDICTION,
  PROJECT,
  predictionRow,
  rate,
  sessionToken,
  signedFiles,
  startApi,
  succeededFields,
} from "./api-fixture.ts";

let row = predictionRow();
const clock = createClock();
const api = await startApi(
  (request) => (request.path.startsWith("/storage/") ? signedFiles(request) : Response.json({ prediction: row, rate })),
  { clock, mostReads: 2 },
);
afterAll(api.stop);
beforeEach(() => {
  row = predictionRow();
  clock.advance(60_000); // what an earlier test was told is old by now
});

const bearer = async (claims: Record<string, unknown> = {}) =>
  `Bearer ${await sessionToken(`${api.supabaseUrl}/auth/v1`, { exp: NOW.getTime() / 1000 + 1e6, ...claims })}`;
const authorization = await bearer();

type Asked = { step?: string; predictionId?: string; headers?: Record<string, string> };

/** Reads, and says how often the database was asked for it. */
async function read(tag?: string, { step = "first-frame", predictionId = PREDICTION, headers = {} }: Asked = {}) {
  api.seen.length = 0;
  const query = new URLSearchParams({ projectId: PROJECT, ...(predictionId === "" ? {} : { predictionId }) });
  const response = await api.call(`/api/projects/generate/${step}?${query}`, {
    headers: { authorization, ...(tag === undefined ? {} : { "if-none-match": tag }), ...headers },
  });
  const asked = api.seen.filter(({ path }) => path.startsWith("/rest/")).length;
  return { status: response.status, tag: response.headers.get("etag") ?? "", headers: response.headers, asked };
}
const cancel = () =>
  api.post(
    "/api/projects/generate/cancel",
    { projectId: PROJECT, predictionId: PREDICTION.toUpperCase() },
    { authorization },
  );

test("the ETag of a moment ago → 304 with the same headers, and nobody asks the database", async () => {
  const first = await read();
  const second = await read(first.tag);
  expect([second.status, second.tag, second.asked]).toEqual([304, first.tag, 0]);
  for (const name of ["retry-after", "ratelimit", "ratelimit-policy", "cache-control"])
    expect([name, second.headers.get(name)]).toEqual([name, first.headers.get(name)]);
  expect(second.headers.get("content-type")).toBeNull();
  expect(JSON.parse(api.log.at(-1) ?? "")).toMatchObject({
    status: 304,
    requestId: second.headers.get("x-request-id"),
  });
});

test("as old as Retry-After → the database is asked again, and what it says goes for as long again", async () => {
  const { tag } = await read();
  clock.advance(999);
  expect((await read(tag)).asked).toBe(0);
  clock.advance(1);
  expect(await read(tag)).toMatchObject({ status: 304, asked: 1 });
  clock.advance(999);
  expect((await read(tag)).asked).toBe(0);
});

test("repeating does not make it younger → a change is told as soon as Retry-After has passed", async () => {
  const { tag } = await read();
  row = predictionRow({ queue_position: 2 });
  for (let waited = 0; waited < 1000; waited += 100) {
    expect((await read(tag)).status).toBe(304);
    clock.advance(100);
  }
  expect(await read(tag)).toMatchObject({ status: 200, asked: 1 });
});

test("a video, which is asked about every two seconds → so long", async () => {
  row = predictionRow({ step: "video" });
  const { tag } = await read(undefined, { step: "video" });
  clock.advance(1999);
  expect((await read(tag, { step: "video" })).asked).toBe(0);
  clock.advance(1);
  expect((await read(tag, { step: "video" })).asked).toBe(1);
});

test("without the ETag, or with another → the database is asked, and 200", async () => {
  await read();
  expect(await read()).toMatchObject({ status: 200, asked: 1 });
  expect(await read('W/"queued-0123456789abcdef-0"')).toMatchObject({ status: 200, asked: 1 });
});

test("one that has ended → the database is asked each time", async () => {
  const { tag: before } = await read();
  row = predictionRow(succeededFields);
  clock.advance(1000);
  const { tag } = await read(before);
  expect(await read(tag)).toMatchObject({ status: 304, asked: 1 });
  expect(await read(before)).toMatchObject({ status: 200, asked: 1 });
});

test("Prefer: wait, which waits for news → the database is asked", async () => {
  const { tag } = await read();
  expect(await read(tag, { headers: { prefer: "wait=1" } })).toMatchObject({
    status: 304,
    asked: 5,
  });
});

test("without an identifier, when the latest run may be another → the database is asked", async () => {
  const { tag } = await read(undefined, { predictionId: "" });
  expect((await read(tag, { predictionId: "" })).asked).toBe(1);
});

test("another session, another step → the database is asked", async () => {
  const { tag } = await read();
  const other = await bearer({ sub: "1d3f1c52-5a0e-4f6e-9d0b-0a4f6f3f2c11" });
  expect((await read(tag, { headers: { authorization: other } })).asked).toBe(1);
  expect((await read(tag, { step: "last-frame" })).asked).toBe(1);
});

test("a session that has run out since → 401", async () => {
  row = predictionRow({ step: "video" });
  const exp = Math.floor(clock.now().getTime() / 1000) + 1;
  const video = { step: "video", headers: { authorization: await bearer({ exp }) } };
  const { tag } = await read(undefined, video);
  expect(await read(tag, video)).toMatchObject({ status: 304, asked: 0 });
  clock.advance(1500);
  expect(await read(tag, video)).toMatchObject({ status: 401, asked: 0 });
});

test("cancelled meanwhile by the same caller → the next read asks the database", async () => {
  const { tag } = await read();
  row = predictionRow({ status: "canceled", completed_at: "2026-11-21T12:00:03+00:00" });
  await cancel();
  expect(await read(tag)).toMatchObject({ status: 200, asked: 1 });
});

test("another one of theirs cancelled, which moves the line → the next read asks the database; somebody else's does not", async () => {
  const other = { headers: { authorization: await bearer({ sub: "1d3f1c52-5a0e-4f6e-9d0b-0a4f6f3f2c11" }) } };
  const tags = [(await read()).tag, (await read(undefined, other)).tag];
  await cancel();
  expect((await read(tags[1], other)).asked).toBe(0);
  expect((await read(tags[0])).asked).toBe(1);
});

test("a session whose token is very long → the database is asked each time", async () => {
  const long = { headers: { authorization: await bearer({ user_metadata: { story: "x".repeat(4000) } }) } };
  const { tag } = await read(undefined, long);
  expect((await read(tag, long)).asked).toBe(1);
});

test("more of them than are remembered → the oldest is asked for again", async () => {
  const ids = [1, 2, 3].map((number) => PREDICTION.replace(/.$/, String(number)));
  const tags: string[] = [];
  for (const predictionId of ids) tags.push((await read(undefined, { predictionId })).tag);
  expect((await read(tags[2], { predictionId: ids[2] ?? "" })).asked).toBe(0);
  expect((await read(tags[1], { predictionId: ids[1] ?? "" })).asked).toBe(0);
  expect((await read(tags[0], { predictionId: ids[0] ?? "" })).asked).toBe(1);
});
