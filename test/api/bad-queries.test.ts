import { beforeAll, expect, test } from "vitest";
import { signUp, type User } from "../support/api/user.ts";

let user: User;
let projectId: string;
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject();
  await user.finish(await user.start("first-frame", { projectId }));
});

const detailsOf = async (query: string) => {
  const { status, error } = await user.call(`/api/projects/generate/first-frame${query}`);
  return [status, error?.code, error?.details?.map(({ path }) => path)];
};

test("GET without a projectId → 400 that names it", async () => {
  expect(await detailsOf("")).toEqual([400, "invalid_request", ["projectId"]]);
  expect(await detailsOf(`?predictionId=${crypto.randomUUID()}`)).toEqual([400, "invalid_request", ["projectId"]]);
});

test("GET with an unknown parameter → 400 that names it", async () => {
  expect(await detailsOf(`?projectId=${projectId}&page=2`)).toEqual([400, "invalid_request", ["page"]]);
  expect(await detailsOf(`?projectId=${projectId}&project_id=${projectId}`)).toEqual([
    400,
    "invalid_request",
    ["project_id"],
  ]);
});

test("GET with a parameter twice, equal or not → 400 that names it: neither value is used", async () => {
  for (const second of [projectId, crypto.randomUUID()]) {
    const query = `?projectId=${projectId}&projectId=${second}`;
    expect(await detailsOf(query)).toEqual([400, "invalid_request", ["projectId"]]);
  }
});

test("GET with an empty predictionId → 400: it is not the same as none", async () => {
  expect(await detailsOf(`?projectId=${projectId}&predictionId=`)).toEqual([400, "invalid_request", ["predictionId"]]);
});

test.each(["first-frame", "last-frame", "video", "cancel"])("POST %s with a query string → 400", async (path) => {
  const { status, error } = await user.post(`/api/projects/generate/${path}?dryRun=1`, { projectId });
  expect([status, error?.code, error?.details?.[0]?.path]).toEqual([400, "invalid_request", "dryRun"]);
});
