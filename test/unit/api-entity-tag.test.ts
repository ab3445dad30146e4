import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { readTag } from "../../supabase/functions/api/http/entity-tag.ts";
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

const HOUR = 3_600_000;
/** The state in the tag of a row that does not exist. */
const STATE = "00000000-0000-4000-8000-000000000000.0..";
let row = predictionRow();
let fileIsThere = true;
const clock = createClock();
const api = await startApi(
  (request) =>
    request.path.startsWith("/storage/")
      ? signedFiles(request, () => !fileIsThere)
      : Response.json({ prediction: row, rate }),
  { clock },
);
afterAll(api.stop);
beforeEach(() => {
  row = predictionRow();
  fileIsThere = true;
  api.seen.length = 0;
});

/** Of a session that outlives every address. */
const authorization = `Bearer ${await sessionToken(`${api.supabaseUrl}/auth/v1`, { exp: NOW.getTime() / 1000 + 1e6 })}`;
const read = (ifNoneMatch?: string, method = "GET") =>
  api.call(`/api/projects/generate/first-frame?projectId=${PROJECT}&predictionId=${PREDICTION}`, {
    method,
    headers: { authorization, ...(ifNoneMatch === undefined ? {} : { "if-none-match": ifNoneMatch }) },
  });
const tagOf = (response: Response) => response.headers.get("etag") ?? "";
const tag = async () => tagOf(await read());
const signings = () => api.seen.filter(({ path }) => path.startsWith("/storage/")).length;

const running = { status: "processing", progress: 0.5, queue_position: null, attempt: 1 };
const failed = {
  status: "failed",
  completed_at: "2026-11-21T12:00:03+00:00",
  error_code: "provider_failed",
  error_message: "Change the prompt.",
  error_retryable: true,
};
const canceled = { status: "canceled", completed_at: "2026-11-21T12:00:03+00:00" };

test("every read carries a weak ETag that begins with the status", async () => {
  for (const [fields, status] of [
    [{}, "queued"],
    [running, "processing"],
    [{ ...running, status: "storing" }, "processing"],
    [succeededFields, "succeeded"],
    [failed, "failed"],
    [canceled, "canceled"],
  ] as const) {
    row = predictionRow(fields);
    expect(await tag()).toMatch(new RegExp(`^W/"${status}-${PREDICTION}[\\d.]+-\\d+"$`));
  }
});

describe("If-None-Match with the tag of the same row", () => {
  test.each([
    ["queued", {}],
    ["processing", running],
    ["succeeded", succeededFields],
    ["failed", failed],
    ["canceled", canceled],
  ])("%s → 304 with the same tag, no body, one call of the database and none that signs", async (_status, fields) => {
    row = predictionRow(fields);
    const known = await tag();
    api.seen.length = 0;
    const response = await read(known);
    expect([response.status, tagOf(response), response.body, await response.text()]).toEqual([304, known, null, ""]);
    expect(api.seen.map(({ path }) => path)).toEqual(["/rest/v1/rpc/read_prediction"]);
  });

  test("HEAD → 304 too, and 200 without a body for another tag", async () => {
    const known = await tag();
    expect((await read(known, "HEAD")).status).toBe(304);
    row = predictionRow(running);
    const changed = await read(known, "HEAD");
    expect([changed.status, tagOf(changed), await changed.text()]).toEqual([200, await tag(), ""]);
  });

  test("304 → the standing headers, the caller's limit and how to poll, but no Content-Type", async () => {
    const response = await read(await tag());
    const { "x-request-id": requestId, ...headers } = Object.fromEntries(response.headers);
    expect(headers).toEqual({
      "access-control-allow-origin": "*",
      "access-control-expose-headers": expect.stringContaining("etag"),
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "retry-after": "1",
      etag: tagOf(response),
      ratelimit: '"generate";r=59;t=1',
      "ratelimit-policy": '"generate";q=60;w=60',
    });
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(JSON.parse(api.log.at(-1) ?? "")).toMatchObject({ status: 304, requestId });
  });

  test("304 of one that has ended → no Retry-After", async () => {
    row = predictionRow(failed);
    expect((await read(await tag())).headers.get("retry-after")).toBeNull();
  });
});

describe("what has changed → 200 with a new tag", () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ["the place in line", { queue_position: 3 }, { queue_position: 2 }],
    ["the progress", running, { ...running, progress: 0.6 }],
    ["the attempt", running, { ...running, attempt: 2 }],
    ["the status", running, succeededFields],
    ["another run of the step", running, { ...running, id: PROJECT }],
  ])("%s", async (_what, before, after) => {
    row = predictionRow(before);
    const known = await tag();
    row = predictionRow(after);
    const response = await read(known);
    expect([response.status, tagOf(response) === known]).toEqual([200, false]);
    expect((await response.json()).data.predictionId).toBe(row.id);
    expect((await read(tagOf(response))).status).toBe(304);
  });

  test("a column that callers do not see (the prompt) has changed → 304", async () => {
    const known = await tag();
    row = predictionRow({ prompt: "another prompt" });
    expect((await read(known)).status).toBe(304);
  });
});

describe("the signed address of an output", () => {
  beforeEach(() => {
    row = predictionRow(succeededFields);
  });

  test("lives for more than a quarter of an hour → 304; for that or less → 200 with a fresh one and a new tag", async () => {
    const known = await tag();
    clock.advance((HOUR * 3) / 4 - 1);
    expect((await read(known)).status).toBe(304);
    clock.advance(1);
    api.seen.length = 0;
    const response = await read(known);
    expect([response.status, signings()]).toEqual([200, 1]);
    const { expiresAt } = (await response.json()).data.output;
    expect(Date.parse(expiresAt)).toBe(clock.now().getTime() + HOUR);
    expect(tagOf(response)).toBe(known.replace(/\d+"$/, `${Date.parse(expiresAt) / 1000}"`));
    expect((await read(tagOf(response))).status).toBe(304);
  });

  test("has run out long ago → 200", async () => {
    const known = await tag();
    clock.advance(10 * HOUR);
    expect((await read(known)).status).toBe(200);
  });

  test("is not there, because the file is gone → 200 each time, since it may come back", async () => {
    fileIsThere = false;
    const known = await tag();
    expect(known).toMatch(/-0"$/);
    expect((await read(known)).status).toBe(200);
  });
});

describe("If-None-Match that holds no tag of ours → 200 as without it", () => {
  test.each([
    "*",
    "",
    "W/",
    '""',
    '"abc"',
    'W/"queued"',
    `W/"queued-${STATE}"`,
    `W/"queued-${STATE.slice(0, 35)}-0"`,
    `W/"queued-${STATE}é-0"`,
    `W/"queued-${STATE}-"`,
    `W/"queued-${STATE}--1x"`,
    `W/"queued-${STATE}-1234567890123"`,
    `W/"storing-${STATE}-0"`,
    `W/"constructor-${STATE}-0"`,
    `W/queued-${STATE}-0`,
  ])("%s", async (given) => {
    expect(readTag(given)).toBeUndefined();
    const response = await read(given);
    expect([response.status, tagOf(response)]).toEqual([200, await tag()]);
  });

  test("a tag of our shape, but of no row → 200", async () => {
    expect((await read(`W/"queued-${STATE}-0"`)).status).toBe(200);
  });
  test("the right state under another status → 200", async () => {
    const known = await tag();
    expect((await read(known.replace("queued", "starting"))).status).toBe(200);
  });
});

describe("a tag of ours among others", () => {
  test("in a list with foreign ones → 304", async () => {
    const known = await tag();
    expect((await read(`"abc", W/"x", ${known}`)).status).toBe(304);
    expect((await read(`${known},"abc"`)).status).toBe(304);
  });
  test("made strong on the way → 304, answered with the tag as we write it", async () => {
    const known = await tag();
    const response = await read(known.slice("W/".length));
    expect([response.status, tagOf(response)]).toEqual([304, known]);
  });
  test("two of ours → the first one counts", async () => {
    const [known, other] = [await tag(), `W/"queued-${STATE}-0"`];
    expect([(await read(`${known}, ${other}`)).status, (await read(`${other}, ${known}`)).status]).toEqual([304, 200]);
  });
});

test.each(['W/"', '"', "a", 'W/"queued-', `W/"queued-${STATE}-`, " ", ","])(
  "64 KiB of %j in If-None-Match → looked through in no time",
  (piece) => {
    const header = piece.repeat(65_536 / piece.length);
    const began = performance.now();
    for (const given of [header, `W/"${header}`, `${header}x`]) expect(readTag(given)).toBeUndefined();
    expect(performance.now() - began).toBeLessThan(2000); // a search that goes back and forth takes many seconds
  },
);
