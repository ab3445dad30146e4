import { afterEach, expect, test } from "vitest";
import { CheckFailed, rowsFromProject } from "../../tools/models-check/read-rows.ts";
import { runCheck } from "../../tools/models-check/run-check.ts";
import { readRecordedSchemas, recordedFile, recordedFolder } from "../../local/simulator/model-schemas.ts";
import { models } from "../../local/simulator/models.ts";
import { serveHttp } from "../../local/simulator/serve-http.ts";
import { type Change, imageRow, startProvider, videoRow } from "./models-check-fixture.ts";

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function provider(change?: Change) {
  const { apiUrl, asked, stop } = await startProvider("r8_right", change);
  stops.push(stop);
  return { asked, provider: { baseUrl: apiUrl, token: "r8_right", fetch } };
}
const today = "2026-12-24";

test("the provider publishes what is recorded → no findings; each model is asked for once", async () => {
  const { provider: replicate, asked } = await provider();
  const rows = [imageRow(), imageRow({ step: "last-frame" }), videoRow()];
  const { checked, findings } = await runCheck({ rows, today, provider: replicate });
  expect(findings).toEqual([]);
  expect(asked.sort()).toEqual(["google/nano-banana", "kwaivgi/kling-v2.1"]);
  expect(checked.map(({ origin }) => origin)).toEqual(
    Array(3).fill(expect.stringMatching(/^Replicate, version [0-9a-f]{8}$/)),
  );
});

test("a model that is gone, or without a version → a finding", async () => {
  const { provider: replicate } = await provider();
  const gone = await runCheck({ rows: [imageRow({ model: "google/none" })], today, provider: replicate });
  expect(gone.findings).toMatchObject([{ refused: expect.stringContaining("Replicate has no such model (404)") }]);
  const fetcher = async () => Response.json({ latest_version: null });
  const unversioned = { baseUrl: "https://x.test", token: "t", fetch: fetcher };
  const without = await runCheck({ rows: [imageRow()], today, provider: unversioned });
  expect(without.findings).toMatchObject([{ refused: expect.stringContaining("no published version") }]);
});

test("a version of a community model → that version's schema is asked for", async () => {
  const { openapi } = models["google/nano-banana"] ?? {};
  const asked: string[] = [];
  const fetcher = async (url: RequestInfo | URL) => {
    asked.push(String(url));
    return Response.json({ id: "8beff3369e81", openapi_schema: openapi });
  };
  const rows = [imageRow({ model: "someone/banana:8beff3369e81" })];
  const { checked } = await runCheck({
    rows,
    today,
    provider: { baseUrl: "https://x.test", token: "t", fetch: fetcher },
  });
  expect(asked).toEqual(["https://x.test/models/someone/banana/versions/8beff3369e81"]);
  expect(checked).toMatchObject([{ origin: "Replicate, version 8beff336", findings: [] }]);
});

test.each<[string, Response | Error, string]>([
  ["401", new Response("{}", { status: 401 }), "refuses the token (401): check KEYFRAME_REPLICATE_API_TOKEN"],
  ["403", new Response("{}", { status: 403 }), "refuses the token (403)"],
  ["429", new Response("{}", { status: 429 }), "answered 429: try again later"],
  ["500", new Response("no", { status: 500 }), "answered 500: try again later"],
  ["a redirect", new Response(null, { status: 302, headers: { location: "/x" } }), "answered 302"],
  [
    "a page instead of JSON",
    new Response("<html>"),
    "answered with no model: is KEYFRAME_REPLICATE_API_BASE_URL right?",
  ],
  ["a schema without an input", Response.json({ latest_version: { id: "f", openapi_schema: {} } }), "cannot be read"],
  ["no network", new TypeError("dns error"), "cannot be reached: dns error"],
])("%s → the check failed, which is no finding; the token is not in the message", async (_name, answer, message) => {
  const fetcher = async () => {
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const failed = runCheck({
    rows: [imageRow()],
    today,
    provider: { baseUrl: "https://x.test", token: "r8_secret", fetch: fetcher },
  });
  const error: unknown = await failed.catch((thrown) => thrown);
  expect(error).toBeInstanceOf(CheckFailed);
  expect(String(error)).toContain(message);
  expect(String(error)).not.toContain("r8_secret");
});

test("a provider or a project that redirects → not followed: token and key stay with the host they are for", async () => {
  const { asked, provider: elsewhere } = await provider();
  const { port, stop } = await serveHttp(
    async () => Response.redirect(`${elsewhere.baseUrl}/models/google/nano-banana`),
    0,
  );
  stops.push(stop);
  const baseUrl = `http://127.0.0.1:${port}`;
  const check = runCheck({ rows: [imageRow()], today, provider: { ...elsewhere, baseUrl } });
  await expect(check).rejects.toThrow("answered 302");
  await expect(rowsFromProject(baseUrl, "sb_secret_x", fetch)).rejects.toThrow("answered 302");
  expect(asked).toEqual([]);
});

test("--record → every model is written anew with its source, twice the same bytes", async () => {
  const root = await Deno.makeTempDir({ prefix: "kf-models-check-" });
  const folder = new URL(`file://${root}/`);
  try {
    await Deno.mkdir(`${root}/kwaivgi`);
    await Deno.copyFile(recordedFile("kwaivgi/kling-v2.1", recordedFolder), recordedFile("kwaivgi/kling-v2.1", folder));
    const { provider: replicate } = await provider((_name, schemas) => {
      if (schemas.mode) schemas.mode.enum = ["standard", "pro", "max"];
      schemas.PredictionRequest = { type: "object" };
    });
    // The model of the row is new, the one that is recorded is in no row: both are written.
    const options = { rows: [imageRow()], today, provider: replicate, folder, record: true };
    await runCheck(options);
    const first = readRecordedSchemas(folder);
    expect(Object.keys(first)).toEqual(["google/nano-banana", "kwaivgi/kling-v2.1"]);
    expect(first["kwaivgi/kling-v2.1"]).toMatchObject({
      "x-source": { how: "read from the provider", from: expect.stringMatching(/^version [0-9a-f]{64}$/), date: today },
      components: { schemas: { mode: { enum: ["standard", "pro", "max"] } } },
    });
    expect(Object.keys(first["kwaivgi/kling-v2.1"]?.components.schemas ?? {})).not.toContain("PredictionRequest");
    const bytes = await Deno.readTextFile(recordedFile("kwaivgi/kling-v2.1", folder));
    await runCheck(options);
    expect(await Deno.readTextFile(recordedFile("kwaivgi/kling-v2.1", folder))).toBe(bytes);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
