import { expect, test } from "vitest";
import { sendToApi } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { readReply } from "../support/api/envelope.ts";
import { startStuck } from "../support/api/stuck.ts";
import { useUser } from "../support/api/user.ts";

// What a tag is made of: test/unit/api/entity-tag.test.ts.

const sql = openDatabase();
const user = useUser();

test("two GETs of a running prediction → the same weak ETag; with it GET and HEAD → 304 with Retry-After, without a body", async () => {
  const projectId = await user.createProject();
  const { predictionId } = await startStuck(sql, user, "last-frame", projectId);
  const path = `/api/projects/generate/last-frame?${new URLSearchParams({ projectId, predictionId })}`;
  const send = (headers: Record<string, string> = {}, method = "GET") =>
    sendToApi(path, { method, token: user.token, headers });
  const tags = [await readReply(await send()), await readReply(await send())].map(({ headers }) => headers.get("etag"));
  const [tag = ""] = tags;
  expect(tags).toEqual([expect.stringMatching(/^W\/"[\x21\x23-\x7e]+"$/), tag]);
  for (const method of ["GET", "HEAD"]) {
    const response = await send({ "if-none-match": tag ?? "" }, method);
    expect([response.status, await response.text(), response.headers.get("etag")]).toEqual([304, "", tag]);
    expect([response.headers.get("retry-after"), response.headers.get("content-type")]).toEqual(["1", null]);
    expect(response.headers.get("ratelimit-policy")).toMatch(/^"read";q=\d+;w=\d+$/);
  }
});
