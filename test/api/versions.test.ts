import { expect, test } from "vitest";
import { useUser } from "../support/api/user.ts";

const user = useUser();

test.each<[id: string, path: string, made: Record<string, string>, change: Record<string, string>]>([
  ["projectId", "/api/projects", { title: "Harbour", textPrompt: "Dawn" }, { title: "Quay" }],
  ["filmId", "/api/films", { title: "The pier" }, { title: "Quay" }],
  ["elementId", "/api/elements", { kind: "prop", name: "Lantern" }, { kind: "style", name: "Light" }],
])(
  "%s: POST, GET and PATCH → the ETag, which a change moves; PATCH and DELETE with an old one → 412, nothing changed",
  async (id, path, made, change) => {
    const created = await user.post(path, made);
    const at = `${path}/${Object(created.data)[id]}`;
    const send = (method: string, tag: string, json?: object) =>
      user.call(at, { method, headers: { "if-match": tag }, ...(json && { json }) });
    const first = created.headers.get("etag") ?? "";
    expect(first).toBe(`"${Object(created.data).updatedAt}"`);
    for (const reply of [await user.call(at), await send("PATCH", first, made)]) // to the values it has
      expect([reply.status, reply.headers.get("etag")]).toEqual([200, first]);
    const changed = await send("PATCH", first, change);
    expect([changed.status, changed.data]).toEqual([200, expect.objectContaining(change)]);
    const second = changed.headers.get("etag") ?? "";
    expect(second).not.toBe(first);
    for (const late of [
      await send("PATCH", first, made),
      await send("PATCH", first, change),
      await send("DELETE", first),
    ]) {
      expect([late.status, late.error?.code]).toEqual([412, "precondition_failed"]);
      expect(late.error?.message).toContain("Read it again");
    }
    const read = await user.call(at);
    expect([read.data, read.headers.get("etag")]).toEqual([expect.objectContaining(change), second]);
    expect((await send("DELETE", second)).status).toBe(200);
    expect((await send("DELETE", second)).error?.code).toBe("not_found");
  },
);

test.each([
  ["If-Match: *", "*", 200],
  ["the ETag among others, and made weak by a proxy", (tag: string) => `"abc", W/${tag}`, 200],
  ["a tag of something else", '"abc"', 412],
  ["a tag that looks like ours", '"2026-13-45T99:99:99.999Z"', 412],
  ["a time that Postgres does not have", '"0000-01-01T00:00:00.000Z"', 412],
  ["no tag at all", "abc", 412],
])("PATCH and DELETE of a project with %s → %s", async (_what, given, status) => {
  const path = `/api/projects/${await user.createProject()}`;
  for (const sent of [{ method: "PATCH", json: { title: "Quay" } }, { method: "DELETE" }]) {
    const tag = (await user.call(path)).headers.get("etag") ?? "";
    const headers = { "if-match": typeof given === "function" ? given(tag) : given };
    expect((await user.call(path, { ...sent, headers })).status).toBe(status);
  }
});
