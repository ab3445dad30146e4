import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { prediction as predictionContract } from "../../shared/contract/predictions.ts";
import {
  failedBody,
  lastArguments,
  PREDICTION,
  PROJECT,
  predictionRow,
  rate,
  signedFiles,
  startApi,
  succeededFields,
} from "./api-fixture.ts";

let row = predictionRow();
let replayed = false;
const platform: Parameters<typeof startApi>[0] = (request) =>
  request.path.startsWith("/storage/")
    ? signedFiles(request)
    : Response.json({ prediction: row, rate, ...(request.path.endsWith("read_prediction") ? {} : { replayed }) });
const api = await startApi(platform);
const behindDomain = await startApi(platform, { clientUrl: "https://films.example" });
afterAll(async () => void (await Promise.all([api.stop(), behindDomain.stop()])));
beforeEach(() => {
  row = predictionRow();
  replayed = false;
});

const sentArguments = () => lastArguments(api);
const read = (step = "first-frame", query = `projectId=${PROJECT}&predictionId=${PREDICTION}`) =>
  api.call(`/api/projects/generate/${step}?${query}`);
const dataOf = async (response: Response) => predictionContract.strict().parse((await response.json()).data);

describe("start", () => {
  test("202 with the queued prediction, where to poll it, when, and what is left of the limit", async () => {
    const response = await api.post("/api/projects/generate/first-frame", { projectId: PROJECT });
    expect(response.status).toBe(202);
    expect(await dataOf(response)).toEqual({
      predictionId: PREDICTION,
      projectId: PROJECT,
      step: "first-frame",
      status: "queued",
      progress: null,
      queuePosition: 0,
      model: "google/nano-banana",
      input: {
        prompt: "a secret prompt",
        referenceImagePath: null,
        firstFramePredictionId: null,
        lastFramePredictionId: null,
        durationSeconds: null,
      },
      attempt: 0,
      createdAt: "2026-11-21T12:00:00.123Z",
      startedAt: null,
      completedAt: null,
      output: null,
      error: null,
    });
    const { headers } = response;
    expect(headers.get("location")).toBe(`first-frame?projectId=${PROJECT}&predictionId=${PREDICTION}`);
    expect([
      headers.get("retry-after"),
      headers.get("ratelimit"),
      headers.get("ratelimit-policy"),
      headers.get("idempotency-replayed"),
    ]).toEqual(["1", '"generate";r=59;t=1', '"generate";q=60;w=60', null]);
  });

  test("what was asked for goes to the database under its names there, and nothing else", async () => {
    await api.post("/api/projects/generate/first-frame", { projectId: PROJECT });
    expect(sentArguments()).toEqual({ project_id: PROJECT, step: "first-frame" });
    await api.post("/api/projects/generate/last-frame", {
      projectId: PROJECT,
      prompt: "later",
      referenceImagePath: "projects/a.png",
      firstFramePredictionId: PREDICTION,
    });
    expect(sentArguments()).toEqual({
      project_id: PROJECT,
      step: "last-frame",
      prompt: "later",
      reference_image_path: "projects/a.png",
      first_frame_prediction_id: PREDICTION,
    });
    await api.post("/api/projects/generate/video", {
      projectId: PROJECT,
      durationSeconds: 5,
      lastFramePredictionId: PREDICTION,
    });
    expect(sentArguments()).toEqual({
      project_id: PROJECT,
      step: "video",
      duration_seconds: 5,
      last_frame_prediction_id: PREDICTION,
    });
  });

  test("a replay → the same status and Idempotency-Replayed, with the signed output once it is there", async () => {
    replayed = true;
    row = predictionRow(succeededFields);
    const response = await api.post(
      "/api/projects/generate/first-frame",
      { projectId: PROJECT },
      { "idempotency-key": "k" },
    );
    expect([
      response.status,
      response.headers.get("idempotency-replayed"),
      response.headers.get("retry-after"),
    ]).toEqual([202, "true", null]);
    expect((await dataOf(response)).output?.url).toMatch(api.supabaseUrl);
  });

  test("a class without a limit → no RateLimit headers", async () => {
    const open = await startApi(() => Response.json({ prediction: row, replayed: false, rate: null }));
    const response = await open.post("/api/projects/generate/first-frame", { projectId: PROJECT });
    await open.stop();
    expect([response.status, response.headers.get("ratelimit"), response.headers.get("ratelimit-policy")]).toEqual([
      202,
      null,
      null,
    ]);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["first-frame", {}, "projectId"],
    ["first-frame", { projectId: "1" }, "projectId"],
    ["first-frame", { projectId: PROJECT, prompt: "" }, "prompt"],
    ["first-frame", { projectId: PROJECT, referenceImagePath: "projects/../secret.png" }, "referenceImagePath"],
    ["first-frame", { projectId: PROJECT, referenceImagePath: "projects/a..png" }, "referenceImagePath"],
    ["first-frame", { projectId: PROJECT, referenceImagePath: "keyframe-outputs/a.png" }, "referenceImagePath"],
    ["first-frame", { projectId: PROJECT, referenceImagePath: "projects/a/b.png" }, "referenceImagePath"],
    ["first-frame", { projectId: PROJECT, firstFramePredictionId: PREDICTION }, "firstFramePredictionId"],
    ["last-frame", { projectId: PROJECT, durationSeconds: 5 }, "durationSeconds"],
    ["video", { projectId: PROJECT, durationSeconds: 0 }, "durationSeconds"],
    ["video", { projectId: PROJECT, durationSeconds: 5.5 }, "durationSeconds"],
    ["video", { projectId: PROJECT, durationSeconds: "5" }, "durationSeconds"],
    ["video", { projectId: PROJECT, referenceImagePath: "projects/a.png" }, "referenceImagePath"],
  ])("%s with %j → 400 that names %s, and nothing reaches the database", async (step, body, path) => {
    const before = api.seen.length;
    const response = await api.post(`/api/projects/generate/${step}`, body);
    expect(response.status).toBe(400);
    expect((await failedBody(response)).error).toMatchObject({ code: "invalid_request", details: [{ path }] });
    expect(api.seen.length).toBe(before);
  });
});

describe("status", () => {
  test("without predictionId the database is asked for the latest run", async () => {
    await read("last-frame", `projectId=${PROJECT}`);
    expect(sentArguments()).toEqual({ project_id: PROJECT, step: "last-frame" });
  });

  test.each([
    ["queued", "queued", null, "first-frame", "1"],
    ["starting", "starting", null, "first-frame", "1"],
    ["processing", "processing", 0.5, "video", "2"],
    ["storing", "processing", 1, "video", "2"],
  ])(
    "%s in the database → %s, Retry-After for the next poll, no output",
    async (status, wire, progress, step, retryAfter) => {
      row = predictionRow({ status, step, progress, queue_position: status === "queued" ? 3 : null });
      const response = await read(step);
      expect([response.status, response.headers.get("retry-after"), response.headers.get("cache-control")]).toEqual([
        200,
        retryAfter,
        "no-store",
      ]);
      expect(await dataOf(response)).toMatchObject({
        status: wire,
        progress,
        output: null,
        queuePosition: status === "queued" ? 3 : null,
      });
    },
  );

  test("succeeded → one call of the database and one that signs, both with the caller's token; the URL works for an hour", async () => {
    row = predictionRow(succeededFields);
    const before = api.seen.length;
    const response = await read();
    const path = succeededFields.output_path;
    expect(api.seen.slice(before).map((request) => [request.path, request.headers.get("authorization")])).toEqual([
      ["/rest/v1/rpc/read_prediction", `Bearer ${api.token}`],
      ["/storage/v1/object/sign/keyframe-outputs", `Bearer ${api.token}`],
    ]);
    expect(JSON.parse(new TextDecoder().decode(api.seen.at(-1)?.body))).toEqual({ expiresIn: 3600, paths: [path] });
    expect(response.headers.get("retry-after")).toBeNull();
    expect(await dataOf(response)).toMatchObject({
      status: "succeeded",
      startedAt: "2026-11-21T12:00:01.000Z",
      completedAt: "2026-11-21T12:00:03.500Z",
      output: {
        url: `${api.supabaseUrl}/storage/v1/object/sign/keyframe-outputs/${path}?token=t`,
        path,
        contentType: "image/png",
        bytes: 1234,
        sha256: "ab".repeat(32),
        width: 1280,
        height: 720,
        expiresAt: "2026-11-21T13:00:00.000Z",
      },
    });
    expect(api.log.at(-1)).not.toMatch("token=t");
  });

  test("its file is gone from Storage → 200 all the same, without an output", async () => {
    const emptied = await startApi((request) =>
      request.path.startsWith("/storage/") ? signedFiles(request, () => true) : platform(request),
    );
    row = predictionRow(succeededFields);
    const response = await emptied.call(`/api/projects/generate/first-frame?projectId=${PROJECT}`);
    await emptied.stop();
    expect([response.status, await dataOf(response)]).toMatchObject([200, { status: "succeeded", output: null }]);
  });

  test("the answer has the remaining read limit", async () => {
    const { headers } = await read();
    expect([headers.get("ratelimit"), headers.get("ratelimit-policy")]).toEqual([
      '"generate";r=59;t=1',
      '"generate";q=60;w=60',
    ]);
  });

  test("a video has its duration, a frame has no such field", async () => {
    row = predictionRow({ ...succeededFields, step: "video", output_duration_seconds: 5.04 });
    expect((await dataOf(await read("video"))).output?.durationSeconds).toBe(5.04);
    row = predictionRow(succeededFields);
    expect((await dataOf(await read())).output).not.toHaveProperty("durationSeconds");
  });

  test("where apps use another address, signed URLs carry that one", async () => {
    row = predictionRow(succeededFields);
    const response = await behindDomain.call(`/api/projects/generate/first-frame?projectId=${PROJECT}`);
    expect((await dataOf(response)).output?.url).toMatch(
      /^https:\/\/films\.example\/storage\/v1\/object\/sign\/keyframe-outputs\//,
    );
  });

  test("a failed generation is a successful call: 200 with its error", async () => {
    row = predictionRow({
      status: "failed",
      completed_at: "2026-11-21T12:00:03+00:00",
      error_code: "provider_failed",
      error_message: "Change the prompt.",
      error_retryable: true,
    });
    const response = await read();
    expect([response.status, response.headers.get("retry-after")]).toEqual([200, null]);
    expect(await dataOf(response)).toMatchObject({
      status: "failed",
      output: null,
      error: { code: "provider_failed", message: "Change the prompt.", retryable: true },
    });
  });

  test.each([
    ["", "projectId"],
    ["projectId=1", "projectId"],
    [`projectId=${PROJECT}&projectId=${PROJECT}`, "projectId"],
    [`projectId=${PROJECT}&predictionId=`, "predictionId"],
    [`projectId=${PROJECT}&limit=5`, "limit"],
    [`projectId=${PROJECT}&__proto__=x`, "__proto__"],
  ])("query %s → 400 that names %s", async (query, path) => {
    const response = await read("first-frame", query);
    expect([response.status, (await failedBody(response)).error.details?.map((detail) => detail.path)]).toEqual([
      400,
      [path],
    ]);
  });

  test("the prompt of the row is in the answer and not in the log", async () => {
    expect(await (await read()).text()).toMatch("secret prompt");
    expect(api.log.at(-1)).not.toMatch("secret prompt");
  });
});

describe("cancel", () => {
  test("200 with the canceled prediction", async () => {
    row = predictionRow({ status: "canceled", queue_position: null, completed_at: "2026-11-21T12:00:03+00:00" });
    const response = await api.post("/api/projects/generate/cancel", { projectId: PROJECT, predictionId: PREDICTION });
    expect([response.status, (await dataOf(response)).status]).toEqual([200, "canceled"]);
    expect(sentArguments()).toEqual({ project_id: PROJECT, prediction_id: PREDICTION });
  });
  test.each([
    [{ projectId: PROJECT }, "predictionId"],
    [{ predictionId: PREDICTION }, "projectId"],
  ])("%j → 400 that names %s", async (body, path) => {
    const response = await api.post("/api/projects/generate/cancel", body);
    expect([response.status, (await failedBody(response)).error.details?.[0]?.path]).toEqual([400, path]);
  });
});
