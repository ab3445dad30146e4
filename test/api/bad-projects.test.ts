import { beforeAll, expect, test } from "vitest";
import type { CallOptions } from "../support/api/call.ts";
import { footprint, openDatabase } from "../support/api/database.ts";
import { signUp, type User } from "../support/api/user.ts";

const sql = openDatabase();
let user: User;
beforeAll(async () => {
  user = await signUp();
});

const GOOD = { title: "Harbour", textPrompt: "A harbour at dawn" };
const JSON_TYPE = { "content-type": "application/json" };

async function refused(options: CallOptions) {
  const before = await footprint(sql, user.id);
  const { status, error } = await user.call("/api/projects", { method: "POST", ...options });
  expect(await footprint(sql, user.id)).toEqual(before);
  return { status, code: error?.code, paths: error?.details?.map(({ path }) => path) };
}

test.each([
  ["an empty body", ""],
  ["white space", "  \n"],
  ["an open brace", "{"],
  ["a text that is cut off", '{"title": "Harb'],
  ["a comma too many", '{"title": "a", "textPrompt": "b",}'],
  ["single quotes", "{'title': 'a', 'textPrompt': 'b'}"],
  ["a comment", '{"title": "a", /* b */ "textPrompt": "b"}'],
  ["two objects", '{"title": "a", "textPrompt": "b"} {}'],
  ["NaN", '{"title": NaN, "textPrompt": "b"}'],
  ["a raw control character", '{"title": "a\u0001", "textPrompt": "b"}'],
  ["a form", "title=a&textPrompt=b"],
])("%s → 400 invalid_json, and nothing changed", async (_name, body) => {
  expect(await refused({ body, headers: JSON_TYPE })).toMatchObject({ status: 400, code: "invalid_json" });
});

test("bytes that are no UTF-8 → 400 invalid_json, never a replacement character in a title", async () => {
  const body = new Uint8Array([...new TextEncoder().encode('{"textPrompt": "b", "title": "'), 0xc3, 0x28, 0x22, 0x7d]);
  expect(await refused({ body, headers: JSON_TYPE })).toMatchObject({ status: 400, code: "invalid_json" });
});

test("30,000 nested lists → 400, no crash", async () => {
  const body = "[".repeat(30_000) + "]".repeat(30_000);
  expect((await refused({ body, headers: JSON_TYPE })).status).toBe(400);
});

test.each<[name: string, json: unknown, paths: string[]]>([
  ["null", null, [""]],
  ["a list", [GOOD], [""]],
  ["a text", "Harbour", [""]],
  ["no field at all", {}, ["title", "textPrompt"]],
  ["a title that is a number", { ...GOOD, title: 7 }, ["title"]],
  ["a title that is null", { ...GOOD, title: null }, ["title"]],
  ["a title that is an object", { ...GOOD, title: { $ne: null } }, ["title"]],
  ["a description that is a list", { ...GOOD, description: ["x"] }, ["description"]],
  ["an unknown field", { ...GOOD, colour: "red" }, ["colour"]],
  ["an owner of one's choice", { ...GOOD, ownerId: crypto.randomUUID(), owner_id: "x" }, ["ownerId", "owner_id"]],
  ["an identifier of one's choice", { ...GOOD, id: crypto.randomUUID() }, ["id"]],
  ["a name in another case", { title: "a", TextPrompt: "b" }, ["textPrompt", "TextPrompt"]],
  ["an empty title", { ...GOOD, title: "" }, ["title"]],
  ["a title of 201 characters", { ...GOOD, title: "x".repeat(201) }, ["title"]],
  ["a title of 201 emoji", { ...GOOD, title: "🎬".repeat(201) }, ["title"]],
  ["an empty textPrompt", { ...GOOD, textPrompt: "" }, ["textPrompt"]],
  ["a textPrompt of 4001 characters", { ...GOOD, textPrompt: "x".repeat(4001) }, ["textPrompt"]],
  ["a description of 4001 characters", { ...GOOD, description: "x".repeat(4001) }, ["description"]],
  ["NUL in a title", { ...GOOD, title: "a\0b" }, ["title"]],
  ["NUL in a textPrompt", { ...GOOD, textPrompt: "\0" }, ["textPrompt"]],
  ["a title of spaces", { ...GOOD, title: "   " }, ["title"]],
  ["a title of zero-width characters", { ...GOOD, title: "\u200b\u2060\ufeff" }, ["title"]],
  ["a title with a terminal escape", { ...GOOD, title: "\u001b[2JHarbour" }, ["title"]],
  ["a title of two lines", { ...GOOD, title: "Harbour\nat dawn" }, ["title"]],
  ["a title that turns what follows it", { ...GOOD, title: "Harbour\u202e" }, ["title"]],
  ["a textPrompt of line breaks", { ...GOOD, textPrompt: "\n\n" }, ["textPrompt"]],
  ["a description with a terminal escape", { ...GOOD, description: "\u009b2J" }, ["description"]],
  ["a lone high surrogate", { ...GOOD, title: "a\ud83c" }, ["title"]],
  ["a lone low surrogate", { ...GOOD, description: "\udfac" }, ["description"]],
])("%s → 400 invalid_request that names the field, and nothing changed", async (_name, json, paths) => {
  expect(await refused({ json })).toEqual({ status: 400, code: "invalid_request", paths });
});

test.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
  "a field named %s → 400 invalid_request: names that every object has are fields like any other",
  async (name) => {
    const body = `{"title": "a", "textPrompt": "b", ${JSON.stringify(name)}: {"title": "c"}}`;
    expect(await refused({ body, headers: JSON_TYPE })).toMatchObject({ status: 400, code: "invalid_request" });
  },
);

test("3000 unknown fields → 400 with a short list of details", async () => {
  const json = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`field${index}`, 1]));
  const { status, paths } = await refused({ json });
  expect(status).toBe(400);
  expect(paths?.length).toBeLessThanOrEqual(20);
});

test.each([
  ["a title of 200 characters", { title: "x".repeat(200) }],
  ["a title of 200 emoji: characters count, not UTF-16 units", { title: "🎬".repeat(200) }],
  ["4000 emoji as textPrompt and as description", { textPrompt: "🎬".repeat(4000), description: "🎞".repeat(4000) }],
  [
    "text that looks like SQL and HTML",
    { title: "'); drop table projects; --", textPrompt: "<script>alert(1)</script>" },
  ],
  ["lines and tabs in textPrompt and description", { textPrompt: "A harbour\n\tat dawn", description: "One\r\ntwo" }],
  ["joiners in Persian, Hindi and emoji", { title: "می\u200cخواهم क्\u200dष 👩‍👩‍👧 🏴󠁧󠁢󠁷󠁬󠁳󠁿" }],
  ["text from right to left, and with combining marks", { title: "מִגְדַּלּוֹר", textPrompt: "e\u0301 👩‍👩‍👧" }],
])("%s → 201, and back comes what was sent", async (_name, fields) => {
  const { status, data } = await user.post("/api/projects", { ...GOOD, ...fields });
  expect(status).toBe(201);
  expect(data).toMatchObject({ ...GOOD, description: "", ...fields });
});

test("the longest texts that fit, each character escaped → 413 says the body is too large, not that the text is", async () => {
  const body = `{"title":"a","textPrompt":"${"\\ud83c\\udfac".repeat(4000)}","description":"${"\\ud83c\\udfac".repeat(4000)}"}`;
  expect(await refused({ body, headers: JSON_TYPE })).toMatchObject({ status: 413, code: "payload_too_large" });
});

test.each([
  ["no Content-Type", {}],
  ["text/plain", { "content-type": "text/plain" }],
  ["a form", { "content-type": "application/x-www-form-urlencoded" }],
  ["JSON in another charset", { "content-type": "application/json; charset=utf-16" }],
  ["a type that only begins like JSON", { "content-type": "application/jsonp" }],
  ["compressed JSON", { "content-type": "application/json", "content-encoding": "gzip" }],
])("%s → 415 unsupported_media_type, and nothing changed", async (_name, headers) => {
  // Bytes, because fetch gives a text a Content-Type of its own.
  const body = new TextEncoder().encode(JSON.stringify(GOOD));
  expect(await refused({ body, headers })).toMatchObject({ status: 415, code: "unsupported_media_type" });
});

test("application/json with charset=UTF-8 in capitals → 201", async () => {
  const headers = { "content-type": 'Application/JSON; Charset="UTF-8"' };
  expect((await user.call("/api/projects", { body: JSON.stringify(GOOD), headers })).status).toBe(201);
});

test("a query string on a path that takes none → 400 invalid_request that names it", async () => {
  const { status, error } = await user.post("/api/projects?draft=true", GOOD);
  expect([status, error?.code, error?.details?.[0]?.path]).toEqual([400, "invalid_request", "draft"]);
});
