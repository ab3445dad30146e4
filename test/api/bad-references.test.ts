import { beforeAll, expect, inject, test } from "vitest";
import { footprint, openDatabase } from "../support/api/database.ts";
import { drawImage } from "../support/media/images.ts";
import { signUp, type User } from "../support/api/user.ts";

const sql = openDatabase();
let user: User;
let stranger: User;
let projectId: string;
let foreignPath: string;
beforeAll(async () => {
  [user, stranger] = await Promise.all([signUp(), signUp()]);
  projectId = await user.createProject();
  foreignPath = await stranger.upload(await drawImage());
});

async function refusal(step: string, referenceImagePath: unknown) {
  const before = await footprint(sql, user.id);
  const { status, error } = await user.post(`/api/projects/generate/${step}`, { projectId, referenceImagePath });
  expect(await footprint(sql, user.id)).toEqual(before);
  return { status, error };
}

test.each([
  "projects/../keyframe-outputs/a.png",
  "projects/..",
  "projects/a..png",
  "../projects/a.png",
  "projects/%2e%2e/a.png",
  "projects/a/b.png",
  "projects//a.png",
  "projects/",
  "projects",
  "/projects/a.png",
  "./projects/a.png",
  "keyframe-outputs/a.png",
  "Projects/a.png",
  "a.png",
  "projects/a.png?x=1",
  "projects/a.png#x",
  "projects/a b.png",
  "projects/a.png\n",
  "projects/a.png\0",
  "projects/.hidden.png",
  "projects\\a.png",
  "projects/ä.png",
  `projects/${"a".repeat(201)}`,
  "https://example.com/a.png",
  "file:///etc/passwd",
  "data:image/png;base64,iVBORw0KGgo=",
  "",
  7,
  null,
  ["projects/a.png"],
])("the reference %j → 400 invalid_request that names it, and nothing changed", async (path) => {
  for (const step of ["first-frame", "last-frame"]) {
    const { status, error } = await refusal(step, path);
    expect([status, error?.code, error?.details?.[0]?.path]).toEqual([400, "invalid_request", "referenceImagePath"]);
  }
});

test("another user's image → 404, word for word as for one that never was, and nothing changed", async () => {
  for (const step of ["first-frame", "last-frame"]) {
    const foreign = await refusal(step, foreignPath);
    const absent = await refusal(step, `projects/${crypto.randomUUID()}.png`);
    expect([foreign.status, foreign.error?.code]).toEqual([404, "not_found"]);
    expect({ ...foreign.error, requestId: "" }).toEqual({ ...absent.error, requestId: "" });
  }
});

test("a file in the other bucket under the name of a reference → 404: only the bucket projects counts", async () => {
  const name = `${crypto.randomUUID()}.png`;
  const { url, secretKey } = inject("stack");
  const response = await fetch(`${url}/storage/v1/object/keyframe-outputs/${name}`, {
    method: "POST",
    headers: { apikey: secretKey, authorization: `Bearer ${secretKey}`, "content-type": "image/png" },
    body: await drawImage(),
  });
  expect(response.status).toBe(200);
  expect((await refusal("first-frame", `projects/${name}`)).status).toBe(404);
});

test("a reference for a video → 400: this step has no such field", async () => {
  const { status, error } = await refusal("video", `projects/${crypto.randomUUID()}.png`);
  expect([status, error?.code, error?.details?.[0]?.path]).toEqual([400, "invalid_request", "referenceImagePath"]);
});
