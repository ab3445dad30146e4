import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { predictionPage, projectPage } from "../../shared/contract/projects.ts";
import {
  failedBody,
  lastArguments,
  OWNER,
  PROJECT,
  predictionRow,
  projectRow,
  signedFiles,
  startApi,
  succeededFields,
} from "./api-fixture.ts";

let rows: unknown[] = [];
let missing: string | undefined;
const api = await startApi((request) =>
  request.path.startsWith("/storage/")
    ? signedFiles(request, (path) => path === missing)
    : Response.json({ [request.path.endsWith("list_projects") ? "projects" : "predictions"]: rows, rate: null }),
);
afterAll(api.stop);
beforeEach(() => {
  rows = [];
  missing = undefined;
  api.seen.length = 0;
});

const PROJECTS = "/api/projects";
const PREDICTIONS = `/api/projects/${PROJECT}/predictions`;
const idOf = (at: number) => `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`;
const succeeded = (at: number, fields: Record<string, unknown> = {}) =>
  predictionRow({ ...succeededFields, id: idOf(at), output_path: fileOf(at), ...fields });
const fileOf = (at: number) => `${OWNER}/${PROJECT}/${idOf(at)}.png`;
const dataOf = async (response: Response) => {
  expect(response.status).toBe(200);
  return (await response.json()).data;
};
const projectsOf = async (response: Response) => projectPage.strict().parse(await dataOf(response));
const predictionsOf = async (response: Response) => predictionPage.strict().parse(await dataOf(response));
const signings = () =>
  api.seen
    .filter(({ path }) => path.startsWith("/storage/"))
    .map(({ body }): string[] => JSON.parse(new TextDecoder().decode(body)).paths);

describe.each([
  ["GET /api/projects", PROJECTS],
  ["GET /api/projects/:projectId/predictions", PREDICTIONS],
])("%s", (_what, path) => {
  const list = (query: string) => api.call(`${path}${query}`);

  const cursorOf = (text: string) => btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const time = "2026-11-21T12:00:00.123456+00:00";
  test.each([
    "cursor=",
    "cursor=null",
    "cursor=%00",
    "cursor=__proto__",
    `cursor=${"a".repeat(201)}`,
    `cursor=${"a".repeat(60_000)}`,
    `cursor=${cursorOf(time)}`,
    `cursor=${cursorOf(`${time} ${PROJECT} x`)}`,
    `cursor=${cursorOf(`${PROJECT} ${time}`)}`,
    `cursor=${cursorOf(`-infinity ${PROJECT}`)}`,
    `cursor=${cursorOf(`2026-13-01T12:00:00Z ${PROJECT}`)}`,
    `cursor=${cursorOf(`${time} ${PROJECT}`).slice(0, -2)}`,
    `cursor=${cursorOf(`${time} ${PROJECT}`)}%3D`,
    `cursor=${cursorOf(`${time} ${PROJECT}`)}&cursor=${cursorOf(`${time} ${PROJECT}`)}`,
    "limit=0",
    "limit=101",
    "limit=1000",
    "limit=1.5",
    "limit=-1",
    "limit=1e1",
    "limit=%201",
    "limit=x",
    "limit=",
    "limit=2&limit=2",
    "include=",
    "include=files",
    "include=Predictions",
    "offset=5",
    "step=",
    "step=third-frame",
  ])("?%.60s → 400 that names it once, before the database is asked", async (query) => {
    const response = await list(`?${query}`);
    const { error } = await failedBody(response);
    expect([response.status, error.details?.map((detail) => detail.path)]).toEqual([400, [query.split("=")[0]]]);
    expect(api.seen).toEqual([]);
  });
});

test("sixty thousand parameters, all different or all the same → a small 400 in no time", async () => {
  const names = Array.from({ length: 60_000 }, (_, at) => at.toString(36));
  for (const query of [names.join("&"), "a&".repeat(60_000)]) {
    const began = performance.now();
    const response = await api.call(`${PROJECTS}?${query}`);
    expect([response.status, (await response.text()).length < 5000]).toEqual([400, true]);
    expect(performance.now() - began).toBeLessThan(5000); // comparing each with each takes twice as long
  }
});

describe("projects", () => {
  test("include=predictions → the latest of each step, null where none was started; one call signs all of the page", async () => {
    rows = [
      projectRow({ id: idOf(0), predictions: [succeeded(1), succeeded(2, { step: "video" })] }),
      projectRow({
        id: idOf(1),
        predictions: [succeeded(3, { step: "last-frame" }), predictionRow({ step: "video" })],
      }),
      projectRow({ id: idOf(2), predictions: [] }),
      projectRow({ id: idOf(3), predictions: [succeeded(4)] }), // of the next page
    ];
    const { projects } = await projectsOf(await api.call(`${PROJECTS}?include=predictions&limit=3`));
    expect(lastArguments(api)).toMatchObject({ with_predictions: true });
    expect(signings()).toEqual([[fileOf(1), fileOf(2), fileOf(3)]]);
    const shown = projects.map(({ predictions }) =>
      Object.entries(predictions ?? {}).map(([step, one]) => [step, one?.status, one?.output?.path]),
    );
    expect(shown).toEqual([
      [
        ["first-frame", "succeeded", fileOf(1)],
        ["last-frame", undefined, undefined],
        ["video", "succeeded", fileOf(2)],
      ],
      [
        ["first-frame", undefined, undefined],
        ["last-frame", "succeeded", fileOf(3)],
        ["video", "queued", undefined],
      ],
      [
        ["first-frame", undefined, undefined],
        ["last-frame", undefined, undefined],
        ["video", undefined, undefined],
      ],
    ]);
  });

  test("include=predictions where nothing has succeeded → no call that signs", async () => {
    rows = [projectRow({ predictions: [predictionRow()] })];
    await projectsOf(await api.call(`${PROJECTS}?include=predictions`));
    expect(signings()).toEqual([]);
  });

  test("one file is gone from Storage → its output is null, the others are as they were", async () => {
    missing = fileOf(1);
    rows = [projectRow({ predictions: [succeeded(1), succeeded(2, { step: "video" })] })];
    const { projects } = await projectsOf(await api.call(`${PROJECTS}?include=predictions`));
    expect(projects[0]?.predictions?.["first-frame"]).toMatchObject({ status: "succeeded", output: null });
    expect(projects[0]?.predictions?.video?.output?.url).toBe(
      `${api.supabaseUrl}/storage/v1/object/sign/keyframe-outputs/${fileOf(2)}?token=t`,
    );
  });
});

describe("predictions of a project", () => {
  test("on the wire, of one step when asked for, all outputs signed in one call", async () => {
    rows = [succeeded(1), predictionRow({ id: idOf(2) }), succeeded(3)];
    const { predictions } = await predictionsOf(await api.call(`${PREDICTIONS}?step=first-frame`));
    expect(lastArguments(api)).toEqual({ project_id: PROJECT, step: "first-frame", max_rows: 21 });
    expect(predictions.map(({ predictionId, output }) => [predictionId, output?.path])).toEqual([
      [idOf(1), fileOf(1)],
      [idOf(2), undefined],
      [idOf(3), fileOf(3)],
    ]);
    expect(signings()).toEqual([[fileOf(1), fileOf(3)]]);
    const storage = api.seen.at(-1);
    expect([storage?.method, storage?.path, storage?.headers.get("authorization")]).toEqual([
      "POST",
      "/storage/v1/object/sign/keyframe-outputs",
      `Bearer ${api.token}`,
    ]);
  });

  test("the one beyond the page is not signed", async () => {
    rows = [succeeded(1), succeeded(2)];
    await predictionsOf(await api.call(`${PREDICTIONS}?limit=1`));
    expect(signings()).toEqual([[fileOf(1)]]);
  });

  test("none that succeeded → no call of Storage", async () => {
    rows = [predictionRow()];
    await predictionsOf(await api.call(PREDICTIONS));
    expect(signings()).toEqual([]);
  });

  test("one file is gone → its output is null, the rest is intact", async () => {
    missing = fileOf(1);
    rows = [succeeded(1), succeeded(2)];
    const { predictions } = await predictionsOf(await api.call(PREDICTIONS));
    expect(predictions.map(({ status, output }) => [status, output?.path])).toEqual([
      ["succeeded", undefined],
      ["succeeded", fileOf(2)],
    ]);
  });
});
