import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { drawImage } from "../../support/media/images.ts";
import { failedBody, rate, startApi } from "./fixture.ts";

// Uploads against a Storage with faults, and bodies that no HTTP client sends. Every other upload: test/api/reference-images.test.ts.

const FILE = "c2b7a0de-6f3a-4c55-9d4c-0f6f7d1a2b3c";
const png = await drawImage();
let replayed = false;
let stored: { status: number; body: unknown };
const api = await startApi(({ path }) =>
  path.startsWith("/storage/")
    ? Response.json(stored.body, { status: stored.status })
    : Response.json({ file_id: FILE, replayed, rate }),
);
afterAll(api.stop);
beforeEach(() => {
  replayed = false;
  stored = { status: 200, body: { Id: "1", Key: "projects/x" } };
  api.seen.length = 0;
});

const upload = (headers: Record<string, string> = {}, body: BodyInit = png) =>
  api.call("/api/projects/reference-images", {
    method: "POST",
    body,
    headers: { "content-type": "image/png", ...headers },
  });
const KEY = { "idempotency-key": "k" };

test("an uploaded image → stored under a name from the database, never over another file, cached by browsers for an hour", async () => {
  expect((await upload()).status).toBe(201);
  const [admit, store, ...more] = api.seen;
  expect([admit?.path, store?.path, ...more.map(({ path }) => path)]).toEqual([
    "/rest/v1/rpc/admit_upload",
    `/storage/v1/object/projects/${FILE}.png`,
  ]);
  const headers = ["content-type", "x-upsert", "cache-control"].map((name) => store?.headers.get(name));
  expect([headers, store?.body]).toEqual([["image/png", "false", "max-age=3600"], png]);
});

describe("the name of an upload exists already → 201, since only the same upload can have it", () => {
  const DUPLICATES = [
    { status: 400, body: { statusCode: "409", error: "Duplicate", message: "The resource already exists" } },
    { status: 409, body: { code: "ResourceAlreadyExists", message: "The resource already exists" } },
  ];
  test.each(DUPLICATES)("a replayed upload whose file exists, %j → the first answer again", async (answer) => {
    replayed = true;
    stored = answer;
    const response = await upload(KEY);
    expect([response.status, response.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
    expect((await response.json()).data).toEqual({ referenceImagePath: `projects/${FILE}.png` });
  });
  test.each(DUPLICATES)("an upload whose store was repeated on a broken connection, %j → 201", async (answer) => {
    stored = answer;
    expect((await upload()).status).toBe(201);
  });
});

test("a replayed upload whose first request ended before it stored → stores the file now", async () => {
  replayed = true;
  expect((await upload(KEY)).status).toBe(201);
  expect(api.seen.at(-1)?.path).toMatch("/storage/");
});

test("an upload of more bytes than Content-Length says → 413 in any framing, and nothing is stored", async () => {
  const response = await upload({ "content-length": String(png.length - 1) });
  expect([response.status, (await failedBody(response)).error.code]).toEqual([413, "payload_too_large"]);
  expect(api.seen.map(({ path }) => path)).toEqual(["/rest/v1/rpc/admit_upload"]);
});
