import { beforeAll, expect, inject, test } from "vitest";
import { callApi } from "../support/api/call.ts";
import { footprint, openDatabase } from "../support/api/database.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp, type User } from "../support/api/user.ts";

const sql = openDatabase();
let owner: User;
let stranger: User;
let projectId: string;
let frameId: string;
beforeAll(async () => {
  [owner, stranger] = await Promise.all([signUp(), signUp()]);
  projectId = await owner.createProject();
  frameId = (await owner.finish(await owner.start("first-frame", { projectId }))).predictionId;
  await startStuck(sql, owner, "last-frame", projectId);
});

type Ids = { projectId: string; predictionId: string };
const ROUTES: Record<string, (user: User, ids: Ids) => ReturnType<User["call"]>> = {
  "POST first-frame": (user, { projectId }) => user.post("/api/projects/generate/first-frame", { projectId }),
  "POST last-frame": (user, { projectId }) => user.post("/api/projects/generate/last-frame", { projectId }),
  "POST last-frame from a frame": (user, { projectId, predictionId }) =>
    user.post("/api/projects/generate/last-frame", { projectId, firstFramePredictionId: predictionId }),
  "POST video": (user, { projectId }) => user.post("/api/projects/generate/video", { projectId }),
  "POST video from a frame": (user, { projectId, predictionId }) =>
    user.post("/api/projects/generate/video", { projectId, firstFramePredictionId: predictionId }),
  "GET first-frame": (user, { projectId }) =>
    user.call(`/api/projects/generate/first-frame?${new URLSearchParams({ projectId })}`),
  "GET first-frame of a prediction": (user, ids) =>
    user.call(`/api/projects/generate/first-frame?${new URLSearchParams(ids)}`),
  "GET last-frame": (user, { projectId }) =>
    user.call(`/api/projects/generate/last-frame?${new URLSearchParams({ projectId })}`),
  "GET video": (user, { projectId }) => user.call(`/api/projects/generate/video?${new URLSearchParams({ projectId })}`),
  "POST cancel": (user, ids) => user.post("/api/projects/generate/cancel", ids),
};

const PROJECT_ROUTES: typeof ROUTES = {
  "GET project": (user, { projectId }) => user.call(`/api/projects/${projectId}`),
  "PATCH project": (user, { projectId }) =>
    user.call(`/api/projects/${projectId}`, { method: "PATCH", json: { title: "Mine now" } }),
  "DELETE project": (user, { projectId }) => user.call(`/api/projects/${projectId}`, { method: "DELETE" }),
  "GET predictions": (user, { projectId }) => user.call(`/api/projects/${projectId}/predictions`),
};
const wholeProject = () => sql`select * from keyframe.projects where id = ${projectId}`;

test.each(Object.entries({ ...ROUTES, ...PROJECT_ROUTES }))(
  "%s of another user's project → 404, word for word as for one that never was, and nothing changed",
  async (_name, call) => {
    const before = await Promise.all([footprint(sql, owner.id), footprint(sql, stranger.id), wholeProject()]);
    const foreign = await call(stranger, { projectId, predictionId: frameId });
    const unknown = await call(stranger, { projectId: crypto.randomUUID(), predictionId: crypto.randomUUID() });
    expect([foreign.status, foreign.error?.code]).toEqual([404, "not_found"]);
    expect({ ...foreign.error, requestId: "" }).toEqual({ ...unknown.error, requestId: "" });
    expect(await Promise.all([footprint(sql, owner.id), footprint(sql, stranger.id), wholeProject()])).toEqual(before);
  },
);

const ANONYMOUS: [string, () => string | undefined][] = [
  ["no session", () => undefined],
  ["the secret key", () => inject("stack").secretKey],
  ["the publishable key", () => inject("stack").publishableKey],
];

test.each(ANONYMOUS)(
  "%s, as Authorization and as apikey → 401 on every route, and nothing changed",
  async (_what, key) => {
    const before = [await footprint(sql, owner.id), await wholeProject()];
    const given = key();
    const headers = given === undefined ? {} : { apikey: given, authorization: `Bearer ${given}` };
    const call: User["call"] = (path, options = {}) =>
      callApi(path, { ...options, headers: { ...options.headers, ...headers } });
    const nobody: User = { ...owner, call, post: (path, json) => call(path, { json }) };
    const routes: typeof ROUTES = { ...ROUTES, ...PROJECT_ROUTES, "GET projects": () => call("/api/projects") };
    for (const [name, ask] of Object.entries(routes)) {
      const { status, error } = await ask(nobody, { projectId, predictionId: frameId });
      expect([name, status, error?.code]).toEqual([name, 401, "unauthorized"]);
    }
    expect([await footprint(sql, owner.id), await wholeProject()]).toEqual(before);
  },
);

test("another user's frame in the caller's own project → 404, word for word as for one that never was", async () => {
  const own = await stranger.createProject();
  for (const [step, field] of [
    ["last-frame", "firstFramePredictionId"],
    ["video", "firstFramePredictionId"],
    ["video", "lastFramePredictionId"],
  ] as const) {
    const before = await footprint(sql, stranger.id);
    const ask = async (id: string) => {
      const { status, error } = await stranger.post(`/api/projects/generate/${step}`, { projectId: own, [field]: id });
      return { status, code: error?.code, message: error?.message.replaceAll(id, "<id>") };
    };
    const foreign = await ask(frameId);
    expect(foreign).toMatchObject({ status: 404, code: "not_found" });
    expect(foreign).toEqual(await ask(crypto.randomUUID()));
    expect(await footprint(sql, stranger.id)).toEqual(before);
  }
});

test("a prediction of another project of the caller → 404: both identifiers have to fit", async () => {
  const other = await owner.createProject();
  const query = `projectId=${other}&predictionId=${frameId}`;
  expect((await owner.call(`/api/projects/generate/first-frame?${query}`)).status).toBe(404);
  const ids = { projectId: other, predictionId: frameId };
  expect((await owner.post("/api/projects/generate/cancel", ids)).status).toBe(404);
});

test.each(["", "1", "null", "../", "' or 1=1 --", "00000000-0000-0000-0000-00000000000g", "{}"])(
  "the identifier %j → 400 invalid_request that names projectId, on every route",
  async (bad) => {
    for (const [name, call] of Object.entries(ROUTES)) {
      const { status, error } = await call(owner, { projectId: bad, predictionId: frameId });
      expect([name, status, error?.code, error?.details?.[0]?.path]).toEqual([
        name,
        400,
        "invalid_request",
        "projectId",
      ]);
    }
  },
);

test.each(["third-frame", "First-Frame", "first_frame", "all", "first-frame%20", "..%2fcancel", "constructor"])(
  "the step %s → 404 for GET and POST, and nothing changed",
  async (step) => {
    const before = await footprint(sql, owner.id);
    const path = `/api/projects/generate/${step}`;
    expect((await owner.call(`${path}?projectId=${projectId}`)).error?.code).toBe("not_found");
    expect((await owner.post(path, { projectId })).error?.code).toBe("not_found");
    expect(await footprint(sql, owner.id)).toEqual(before);
  },
);
