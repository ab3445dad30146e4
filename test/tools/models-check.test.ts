import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { modelJson } from "../../local/simulator/api-routes.ts";
import { readRecordedSchemas, recordedFile, recordedFolder } from "../../local/simulator/model-schemas.ts";
import { models } from "../../local/simulator/models.ts";
import { serveHttp } from "../../local/simulator/serve-http.ts";
import { fetchUntil, rowsFromProject } from "../../tools/models-check/read-rows.ts";
import type { ModelRow } from "../../tools/models-check/row-inputs.ts";
import { runCheck } from "../../tools/models-check/run-check.ts";
import { KLING, NANO_BANANA } from "../support/models.ts";
import { runCommand } from "../support/tools/run-command.ts";
import { until } from "../support/until.ts";

const run = (args: string[], environment: Record<string, string> = {}) =>
  runCommand("tools/models-check.ts", args, environment).ended;

const changed =
  (row: ModelRow) =>
  (change: Partial<ModelRow> = {}, controls: Partial<ModelRow["controls"]> = {}): ModelRow => ({
    ...row,
    ...change,
    controls: { ...row.controls, ...controls } as ModelRow["controls"], // no control is taken away
  });
/** A right row of google/nano-banana, changed. */
const imageRow = changed({ step: "first-frame", model: "google/nano-banana", is_default: true, ...NANO_BANANA });
/** A right row of kwaivgi/kling-v2.1, changed. */
const videoRow = changed({ step: "video", model: "kwaivgi/kling-v2.1", is_default: true, ...KLING });

// This is what fails when a migration ships a row that its model does not take.
test("models:check without configuration → the shipped rows fit the recorded schemas: a table, a summary, exit 0", async () => {
  const { code, said, error } = await run([]);
  expect([code, error], said).toEqual([0, ""]);
  expect(said).toMatch(/^video +kwaivgi\/kling-v3-omni-video \(default\) +recorded \d{4}-\d\d-\d\d, [a-z ]+ +fits$/m);
  const [, count] =
    /All fit their model's schema: (\d+) rows of models, from this repository's migrations\.\n$/.exec(said) ?? [];
  expect(Number(count)).toBeGreaterThanOrEqual(20);
});

test("models:check is stopped while its Postgres runs → one line, exit 2, and no folder is left", async () => {
  const folder = await Deno.makeTempDir({ prefix: "kf-models-check-" });
  await Deno.chmod(folder, 0o777);
  const command = runCommand("tools/models-check.ts", [], { TMPDIR: folder });
  const left = () => Array.from(Deno.readDirSync(folder), ({ name }) => name);
  await until("its folder is there", () => left().length > 0, 60_000);
  command.kill("SIGTERM");
  expect(await command.ended).toMatchObject({ code: 2, error: expect.stringMatching(/^[^\n]+\n$/) });
  expect(left()).toEqual([]);
  await Deno.remove(folder);
});

test.each<[string[], Record<string, string>, string]>([
  [["--record"], {}, "--record reads from Replicate: set KEYFRAME_REPLICATE_API_TOKEN."],
  [[], { SUPABASE_SECRET_KEYS: "hunter2" }, "SUPABASE_SECRET_KEYS is wrong (must be JSON)"],
])("%j with %j → refused, without repeating a secret", async (args, environment, message) => {
  const { code, error } = await run(args, environment);
  expect([code, error]).toEqual([2, expect.stringContaining(message)]);
  expect(error).not.toContain("hunter2");
});

describe("rows against the recorded schemas", () => {
  const refusalsOf = async (row: ModelRow) => {
    const { findings } = await runCheck({ rows: [row], today: "2026-12-24" });
    return findings.map(({ requested, refused }) => `with ${requested}: ${refused}`);
  };

  test("model rows that fit the recorded schemas → no finding, in each step", async () => {
    for (const row of [imageRow(), imageRow({ step: "last-frame" }), videoRow()])
      expect(await refusalsOf(row)).toEqual([]);
  });

  test.each<[string, ModelRow, string]>([
    [
      "a field that the model has not",
      imageRow({}, { prompt: { field: "text" } }),
      "with the defaults: input.text: Additional property text is not allowed",
    ],
    [
      "one image into a list",
      imageRow({}, { referenceImages: { field: "image_input", max: 1 } }),
      "with 1 reference images: input.image_input: Invalid type. Expected: array, given: string (image_input)",
    ],
    [
      "a value that the model has not → the first input with it",
      videoRow({}, { durationSeconds: { field: "duration", values: [5, 7], default: 5 } }),
      "with durationSeconds 7: input.duration: duration must be one of the following: 5, 10",
    ],
    [
      "a default that the model has not",
      videoRow(
        {},
        {
          lastFrame: { field: "end_image" },
          resolution: { field: "mode", values: { "720p": "std" }, default: "720p" },
        },
      ),
      `with the defaults: input.mode: mode must be one of the following: "standard", "pro"`,
    ],
    [
      "a range beyond the model's",
      videoRow({ model: "kwaivgi/kling-v3-video" }, { durationSeconds: { field: "duration", min: 3, max: 16 } }),
      "with durationSeconds 16: input.duration: Must be less than or equal to 15",
    ],
    [
      "what only a last frame forces",
      videoRow({}, { lastFrame: { field: "end_image", forces: { resolution: "4k" } }, resolution: { field: "mode" } }),
      `with 0 reference images and a last frame: input.mode: mode must be one of the following: "standard", "pro"`,
    ],
    [
      "what only one value forces",
      videoRow(
        {},
        { resolution: { field: "mode", values: ["standard", "pro"], forcesByValue: { pro: { durationSeconds: 8 } } } },
      ),
      "with resolution pro: input.duration: duration must be one of the following: 5, 10",
    ],
    [
      "a fixed value that the model has not",
      imageRow({ fixed: { output_format: "webp" } }),
      `with the defaults: input.output_format: output_format must be one of the following: "jpg", "png"`,
    ],
    [
      "a model without a record",
      imageRow({ model: "google/none" }),
      "with any input: its schema is not recorded. Set KEYFRAME_REPLICATE_API_TOKEN to ask Replicate.",
    ],
  ])("a model row with %s → a finding", async (_name, row, refusal) => {
    expect(await refusalsOf(row)).toContain(refusal);
  });
});

const uri = { type: "string", format: "uri" };
const files = (...names: string[]) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, uri])),
});
test.each<[what: string, output: object, row: string | null, mistake: string | null]>([
  ["an address", uri, null, null],
  ["lists of addresses", { type: "array", items: { type: "array", items: uri } }, null, null],
  ["an object of one file", { type: "object", properties: { video: uri, seed: { type: "integer" } } }, null, null],
  ["anything", {}, null, null],
  [
    "two files",
    files("video", "preview"),
    null,
    "the model returns several files: video, preview. Name one in the column output.",
  ],
  ["two files, one of them named", files("video", "preview"), "video", null],
  [
    "a list that is named",
    { type: "object", properties: { images: { type: "array", items: uri }, mask: uri } },
    "images[0]",
    null,
  ],
  [
    "a file of another name",
    files("video"),
    "film",
    "the row names film, and the model returns video. Correct the column output.",
  ],
  ["numbers", { type: "array", items: { type: "number" } }, null, "the model returns no file. Use another model."],
])(
  "a model that publishes %s as its output → a finding before a run of it is paid, or none",
  async (_, Output, output, mistake) => {
    const openapi = {
      components: { schemas: { ...Object(models["google/nano-banana"]?.openapi).components.schemas, Output } },
    };
    const answer = async () => Response.json({ latest_version: { id: "8beff3369e81", openapi_schema: openapi } });
    const provider = { baseUrl: "https://x.test", token: "r8_right", fetch: answer };
    const { findings } = await runCheck({ rows: [imageRow({ output })], today: "2026-12-24", provider });
    expect(findings.map(({ refused }) => refused)).toEqual(mistake === null ? [] : [`output: ${mistake}`]);
  },
);

describe("a project and a provider", () => {
  const document = z.looseObject({ components: z.looseObject({ schemas: z.record(z.string(), z.json()) }) });
  const published = z.looseObject({ latest_version: z.looseObject({ openapi_schema: document }) });
  const paths: string[] = [];
  const answers: Record<string, unknown> = {
    sb_secret_right: [imageRow(), videoRow()].map(({ is_default, ...row }) => ({
      ...row,
      step_defaults: { is_default },
    })),
    sb_secret_empty: [],
    sb_secret_older: [{ step: "video", model: "kwaivgi/kling-v2.1" }],
  };
  let server: Awaited<ReturnType<typeof serveHttp>>;
  let url: string;
  let environment: Record<string, string>;
  beforeAll(async () => {
    server = await serveHttp(async (request) => {
      const { pathname, search } = new URL(request.url);
      paths.push(pathname + search);
      if (pathname.startsWith("/elsewhere")) return Response.redirect(`${url}${pathname.slice(10)}${search}`);
      if (pathname.startsWith("/rest/")) {
        const rows = answers[request.headers.get("apikey") ?? ""];
        return rows === undefined ? Response.json({}, { status: 401 }) : Response.json(rows);
      }
      const name = pathname.replace("/v1/models/", "");
      if (!models[name]) return Response.json({ status: 404 }, { status: 404 });
      const model = published.parse(structuredClone(modelJson(name, "https://replicate.test")));
      const { schemas } = model.latest_version.openapi_schema.components;
      if (schemas.mode) schemas.mode = { type: "string", enum: ["standard", "max"] };
      schemas.PredictionRequest = { type: "object" };
      return Response.json(model);
    }, 0);
    url = `http://127.0.0.1:${server.port}`;
    environment = {
      SUPABASE_URL: url,
      SUPABASE_SECRET_KEYS: '{"default":"sb_secret_right"}',
      KEYFRAME_REPLICATE_API_BASE_URL: `${url}/v1`,
    };
  });
  afterAll(() => server.stop());

  test("a model's schema that has changed at the provider → its line, exit 1", async () => {
    const { code, said } = await run([], { ...environment, KEYFRAME_REPLICATE_API_TOKEN: "r8_right" });
    expect(code).toBe(1);
    expect(said).toContain(
      'Wrong: video  kwaivgi/kling-v2.1  with resolution 1080p: input.mode: mode must be one of the following: "standard", "max"\n',
    );
    expect(said).toContain(`1 finding in 2 rows of models, from the project ${url}.\n`);
    expect(said).toMatch(/google\/nano-banana \(default\) +Replicate, version [0-9a-f]{8} +fits/);
  });

  test.each([
    ["sb_secret_wrong", "refuses the key (401): it must be the project's secret key."],
    ["sb_secret_empty", "models has no rows in the project"],
    ["sb_secret_older", "answered with no rows of models: is SUPABASE_URL right?"],
  ])("%s: model rows that cannot be read → one line without the key, exit 2", async (SUPABASE_SECRET_KEY, line) => {
    const { code, said, error } = await run([], { ...environment, SUPABASE_SECRET_KEY });
    expect({ code, said, error }).toEqual({ code: 2, said: "", error: expect.stringContaining(line) });
    expect(error).not.toContain("sb_secret");
  });

  const today = "2026-12-24";
  const provider = (baseUrl: string, fetcher: typeof fetch = fetch) => ({
    baseUrl,
    token: "r8_secret",
    fetch: fetcher,
  });

  test("a provider or a project that redirects → not followed: token and key go only to their own host", async () => {
    const fetcher = fetchUntil(new AbortController().signal);
    const check = runCheck({ rows: [imageRow()], today, provider: provider(`${url}/elsewhere/v1`, fetcher) });
    await expect(check).rejects.toThrow("answered 302");
    await expect(rowsFromProject(`${url}/elsewhere`, "sb_secret_right", fetcher)).rejects.toThrow("answered 302");
    expect(paths.slice(-2)).toEqual([expect.stringMatching(/^\/elsewhere/), expect.stringMatching(/^\/elsewhere/)]);
  });

  test("a project that cannot be reached → says so", async () => {
    const fetcher = () => Promise.reject(new TypeError("dns error"));
    const reading = rowsFromProject("https://x.test", "sb_secret_right", fetcher);
    await expect(reading).rejects.toThrow("https://x.test cannot be reached: TypeError: dns error");
  });

  test("a deleted model, one without a version, a community model's version → two findings, and a check of that version", async () => {
    const gone = await runCheck({ rows: [imageRow({ model: "google/none" })], today, provider: provider(`${url}/v1`) });
    expect(gone.findings).toMatchObject([{ refused: expect.stringContaining("Replicate has no such model (404)") }]);
    const fetcher = async (address: RequestInfo | URL) =>
      String(address).endsWith("/someone/banana/versions/8beff3369e81")
        ? Response.json({ id: "8beff3369e81", openapi_schema: models["google/nano-banana"]?.openapi })
        : Response.json({ latest_version: null });
    const rows = [imageRow(), imageRow({ model: "someone/banana:8beff3369e81" })];
    const { checked } = await runCheck({ rows, today, provider: provider("https://x.test", fetcher) });
    expect(checked).toMatchObject([
      { findings: [{ refused: expect.stringContaining("no published version") }] },
      { origin: "Replicate, version 8beff336", findings: [] },
    ]);
  });

  test.each<[string, Response | Error, string]>([
    ["401", new Response("{}", { status: 401 }), "refuses the token (401): check KEYFRAME_REPLICATE_API_TOKEN"],
    ["429", new Response("{}", { status: 429 }), "answered 429: try again later"],
    ["a page instead of JSON", new Response("<html>"), "answered with no model: is KEYFRAME_REPLICATE_API_BASE_URL"],
    ["a schema without an input", Response.json({ latest_version: { id: "f", openapi_schema: {} } }), "cannot be read"],
    ["no network", new TypeError("dns error"), "cannot be reached: dns error"],
  ])(
    "the provider answers %s → the check failed, without a finding; the token is not in the message",
    async (_name, answer, message) => {
      const fetcher = async () => {
        if (answer instanceof Error) throw answer;
        return answer;
      };
      const failed = runCheck({ rows: [imageRow()], today, provider: provider("https://x.test", fetcher) });
      await expect(failed).rejects.toThrow(message);
      await expect(failed).rejects.not.toThrow("r8_secret");
    },
  );

  test("models:check --record → writes every model with its source, the same bytes each time", async () => {
    const root = await Deno.makeTempDir({ prefix: "kf-models-check-" });
    const folder = new URL(`file://${root}/`);
    const kling = recordedFile("kwaivgi/kling-v2.1", folder);
    try {
      await Deno.mkdir(`${root}/kwaivgi`);
      await Deno.copyFile(recordedFile("kwaivgi/kling-v2.1", recordedFolder), kling);
      // The model of the row is new, the one that is recorded is in no row: both are written.
      const options = { rows: [imageRow()], today, provider: provider(`${url}/v1`), folder, record: true };
      await runCheck(options);
      const first = readRecordedSchemas(folder);
      expect(Object.keys(first)).toEqual(["google/nano-banana", "kwaivgi/kling-v2.1"]);
      expect(first["kwaivgi/kling-v2.1"]).toMatchObject({
        "x-source": {
          how: "read from the provider",
          from: expect.stringMatching(/^version [0-9a-f]{64}$/),
          date: today,
        },
        components: { schemas: { mode: { enum: ["standard", "max"] } } },
      });
      expect(Object.keys(first["kwaivgi/kling-v2.1"]?.components.schemas ?? {})).not.toContain("PredictionRequest");
      const bytes = await Deno.readTextFile(kling);
      await runCheck(options);
      expect(await Deno.readTextFile(kling)).toBe(bytes);
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  });
});
