import { afterAll, beforeEach, expect, test } from "vitest";
import { PREDICTION, PROJECT, predictionRow, rate, signedFiles, startApi, succeededFields } from "./api-fixture.ts";

let refuses = false;
const api = await startApi((request) => {
  if (refuses) return Response.json({ code: "PGRST000", message: "away" }, { status: 503 });
  return request.path.startsWith("/storage/")
    ? signedFiles(request)
    : Response.json({ prediction: predictionRow(succeededFields), rate });
});
afterAll(api.stop);
beforeEach(() => {
  refuses = false;
  api.seen.length = 0;
});

const read = () => api.call(`/api/projects/generate/first-frame?projectId=${PROJECT}&predictionId=${PREDICTION}`);
const start = () => api.post("/api/projects/generate/first-frame", { projectId: PROJECT });
const connections = () => new Set(api.seen.map(({ connection }) => connection)).size;

test("requests one after the other, each with a call of PostgREST and one of Storage, then refused ones → one connection to the platform", async () => {
  for (let round = 0; round < 20; round++) {
    expect([(await read()).status, (await start()).status]).toEqual([200, 202]);
  }
  refuses = true; // refusals are read to their end, too
  for (let round = 0; round < 20; round++) expect((await (round % 2 ? read : start)()).status).toBe(503);
  expect([api.seen.length, connections()]).toEqual([100, 1]);
});

test("8 at a time → 8 connections at most", async () => {
  const worker = async () => {
    for (let round = 0; round < 8; round++) expect((await read()).status).toBe(200);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  expect(api.seen.length).toBe(128);
  expect(connections()).toBeLessThanOrEqual(8);
});
