import { afterAll, beforeEach, describe, expect, test } from "vitest";
import {
  failedBody,
  lastArguments,
  PREDICTION,
  PROJECT,
  predictionRow,
  projectOnWire,
  projectRow,
  rate,
  signedFiles,
  startApi,
  succeededFields,
} from "./api-fixture.ts";

let predictions: unknown[] = [];
let refused: Response | undefined;
const api = await startApi((request) =>
  request.path.startsWith("/storage/")
    ? signedFiles(request)
    : (refused ?? Response.json({ project: projectRow(), predictions, rate: { ...rate, policy: "change" } })),
);
afterAll(api.stop);
beforeEach(() => {
  predictions = [];
  refused = undefined;
  api.seen.length = 0;
});

const path = `/api/projects/${PROJECT}`;
const patch = (body: string, contentType = "application/json") =>
  api.call(path, { method: "PATCH", body, headers: { "content-type": contentType } });
const change = (body: unknown) => patch(JSON.stringify(body));
const dataOf = async (response: Response) => (await response.json()).data;
const detailsOf = async (response: Response) => {
  const { error } = await failedBody(response);
  return [response.status, error.code, error.details?.map((detail) => detail.path)];
};

describe("GET /api/projects/:projectId", () => {
  test("200 with the project and each step's latest prediction, null where none was started", async () => {
    predictions = [predictionRow({ step: "video" })];
    expect(await dataOf(await api.call(path))).toEqual({
      ...projectOnWire,
      predictions: { "first-frame": null, "last-frame": null, video: expect.objectContaining({ status: "queued" }) },
    });
    expect(api.seen.map((request) => request.path)).toEqual(["/rest/v1/rpc/read_project"]);
  });

  test("all that succeeded is signed in one call", async () => {
    predictions = [
      predictionRow({ ...succeededFields, output_path: "a/b/1.png" }),
      predictionRow({ ...succeededFields, output_path: "a/b/2.mp4", step: "video", output_duration_seconds: 5 }),
    ];
    const read = (await dataOf(await api.call(path))).predictions;
    expect([read["first-frame"].output.path, read.video.output.durationSeconds]).toEqual(["a/b/1.png", 5]);
    expect(api.seen.length).toBe(2);
  });
});

describe("PATCH /api/projects/:projectId", () => {
  test.each([
    [{ title: "Pier" }, { title: "Pier" }],
    [{ textPrompt: "A pier" }, { text_prompt: "A pier" }],
    [{ description: "" }, { description: "" }],
    [{ referenceImagePath: null }, { reference_image_path: null }],
    [{ selected: { "last-frame": PREDICTION } }, { selected_last_frame_id: PREDICTION }],
    [
      { description: "d", title: "t", textPrompt: "p" },
      { title: "t", text_prompt: "p", description: "d" },
    ],
  ])("%j → 200; only that goes to the database", async (body, args) => {
    const response = await change(body);
    expect([response.status, await dataOf(response)]).toEqual([200, projectOnWire]);
    expect(lastArguments(api)).toEqual({ project_id: PROJECT, changes: args });
    expect(response.headers.get("ratelimit")).toBe('"change";r=59;t=1');
  });

  test("nothing to change → 400 that says what there is", async () => {
    const response = await change({});
    expect(response.status).toBe(400);
    expect((await failedBody(response)).error).toMatchObject({
      code: "invalid_request",
      details: [
        {
          path: "",
          message: "Must hold at least one of title, textPrompt, description, referenceImagePath, selected.",
        },
      ],
    });
    expect(api.seen).toEqual([]);
  });

  test.each<[unknown, string[]]>([
    [{ title: "" }, ["title"]],
    [{ title: null }, ["title"]],
    [{ title: "a".repeat(201) }, ["title"]],
    [{ textPrompt: "" }, ["textPrompt"]],
    [{ description: "a".repeat(4001) }, ["description"]],
    [{ title: "nul\0" }, ["title"]],
    [{ title: "t", ownerId: PROJECT }, ["ownerId"]],
    [{ title: "t", projectId: PROJECT }, ["projectId"]],
    [{ title: "t", text_prompt: "p" }, ["text_prompt"]],
    [{ title: 1, textPrompt: 2, createdAt: 3 }, ["title", "textPrompt", "createdAt"]],
    [[], [""]],
    [null, [""]],
  ])("%.50j → 400 that names what does not fit, before the database is asked", async (body, fields) => {
    const [status, code, named] = await detailsOf(await change(body));
    expect([status, code]).toEqual([400, "invalid_request"]);
    expect(named).toEqual(fields);
    expect(api.seen).toEqual([]);
  });

  test("an unknown field alone → it is named, and that nothing is left to change", async () => {
    const [status, , named] = await detailsOf(await change({ name: "t" }));
    expect([status, named]).toEqual([400, ["name", ""]]);
  });

  test.each([
    ["", "application/json", 400, "invalid_json"],
    ["title=t", "application/x-www-form-urlencoded", 415, "unsupported_media_type"],
    [`{"title":"${"t".repeat(70_000)}"}`, "application/json", 413, "payload_too_large"],
  ])("%.20s as %s → %i %s", async (body, contentType, status, code) => {
    const response = await patch(body, contentType);
    expect([response.status, (await failedBody(response)).error.code]).toEqual([status, code]);
    expect(api.seen).toEqual([]);
  });
});

describe("DELETE /api/projects/:projectId", () => {
  test("200 with the project that is gone; Storage is not called, its files go later", async () => {
    const response = await api.call(path, { method: "DELETE" });
    expect([response.status, await dataOf(response)]).toEqual([200, projectOnWire]);
    expect(api.seen.map((request) => request.path)).toEqual(["/rest/v1/rpc/delete_project"]);
  });

  test("a body or an Idempotency-Key with it → makes no difference", async () => {
    const headers = { "idempotency-key": "k", "content-type": "application/json" };
    const response = await api.call(path, { method: "DELETE", body: '{"force":true}', headers });
    expect([response.status, lastArguments(api)]).toEqual([200, { project_id: PROJECT }]);
  });

  test("something of it runs → 409 generation_in_progress with the sentence of the database", async () => {
    const details = "A generation of this project is running. Cancel it first.";
    refused = Response.json({ code: "KEYFR", message: "generation_in_progress", details, hint: "" }, { status: 400 });
    const response = await api.call(path, { method: "DELETE" });
    expect([response.status, (await failedBody(response)).error]).toMatchObject([
      409,
      { code: "generation_in_progress", message: details },
    ]);
  });
});

describe("what is no identifier → no such path: 404, and nothing reaches the platform", () => {
  test.each([
    "1",
    `${PROJECT}x`,
    `x${PROJECT}`,
    PROJECT.slice(1),
    PROJECT.replaceAll("-", ""),
    `${PROJECT}/`,
    `${PROJECT}%0A`,
    `${PROJECT}%2Fpredictions`,
    `${PROJECT}/predictions/`,
    `${PROJECT}/files`,
    `{${PROJECT}}`,
    ":projectId",
    "constructor",
    "__proto__",
    "%00",
  ])("%s", async (given) => {
    for (const method of ["GET", "PATCH", "DELETE"]) {
      const response = await api.call(`/api/projects/${given}`, { method });
      expect([response.status, (await failedBody(response)).error.code]).toEqual([404, "not_found"]);
    }
    expect(api.seen).toEqual([]);
  });

  test("written with escapes that mean the same → the same project", async () => {
    const escaped = PROJECT.replace(/^0/, "%30");
    expect((await api.call(`/api/projects/${escaped}`)).status).toBe(200);
    expect(lastArguments(api)).toEqual({ project_id: PROJECT });
  });
});
