import { beforeAll, expect, test } from "vitest";
import { sendToApi } from "../support/api/call.ts";
import { footprint, openDatabase } from "../support/api/database.ts";
import { readReply } from "../support/api/envelope.ts";
import { rawRequest } from "../support/api/raw-request.ts";
import { signUp, type User } from "../support/api/user.ts";

const sql = openDatabase();
let user: User;
beforeAll(async () => {
  user = await signUp();
});

const LIMIT = 64 * 1024;
const JSON_TYPE = { "content-type": "application/json" };

/** A project's body of exactly so many bytes: JSON allows white space. */
const bodyOf = (size: number) => JSON.stringify({ title: "Harbour", textPrompt: "Dawn" }).padEnd(size, " ");

/** A stream goes out in pieces and without a Content-Length: its length is unknown. */
const streamed = (text: string) => new Blob([text]).stream();

test("a body of exactly 64 KiB → 201", async () => {
  expect((await user.call("/api/projects", { body: bodyOf(LIMIT), headers: JSON_TYPE })).status).toBe(201);
});

test("one byte more → 413, and nothing changed", async () => {
  const before = await footprint(sql, user.id);
  const { status, error } = await user.call("/api/projects", { body: bodyOf(LIMIT + 1), headers: JSON_TYPE });
  expect([status, error?.code]).toEqual([413, "payload_too_large"]);
  expect(await footprint(sql, user.id)).toEqual(before);
});

test("64 KiB in pieces without a Content-Length → 201", async () => {
  const body = streamed(bodyOf(LIMIT));
  const response = await sendToApi("/api/projects", { method: "POST", token: user.token, headers: JSON_TYPE, body });
  expect((await readReply(response)).status).toBe(201);
});

test("1 MiB in pieces without a Content-Length → 413, and nothing changed", async () => {
  const before = await footprint(sql, user.id);
  const body = streamed(bodyOf(1024 * 1024));
  const response = await sendToApi("/api/projects", { method: "POST", token: user.token, headers: JSON_TYPE, body });
  expect((await readReply(response)).error?.code).toBe("payload_too_large");
  expect(await footprint(sql, user.id)).toEqual(before);
});

test("a Content-Length of 10 GB and no body → 413 at once, without waiting for it", async () => {
  const answer = await rawRequest(user.token, "POST /api/projects", { "content-length": "10000000000", ...JSON_TYPE });
  expect(answer.status).toBe(413);
  expect(answer.body).toMatchObject({ success: false, error: { code: "payload_too_large" } });
});

test("a body that breaks off before its Content-Length → nothing changed, and the API goes on", async () => {
  const before = await footprint(sql, user.id);
  const headers = { "content-length": "500", ...JSON_TYPE };
  await rawRequest(user.token, "POST /api/projects", headers, '{"title": "Harbour"', { closeAfterBody: true });
  expect((await user.call("/api/health")).status).toBe(200);
  expect(await footprint(sql, user.id)).toEqual(before);
});

test("compressed bytes in an honest wrapper → 415: a small body cannot swell", async () => {
  const zeros = new Blob([new Uint8Array(5_000_000)]).stream().pipeThrough(new CompressionStream("gzip"));
  const body = new Uint8Array(await new Response(zeros).arrayBuffer());
  const headers = { ...JSON_TYPE, "content-encoding": "gzip" };
  const { status, error } = await user.call("/api/projects", { body, headers });
  expect([status, error?.code]).toEqual([415, "unsupported_media_type"]);
});
