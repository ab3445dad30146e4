import { describe, expect, test } from "vitest";
import { STEPS } from "../../shared/contract/fields.ts";
import {
  changeProjectBody,
  createProjectBody,
  latestPredictions,
  listPredictionsQuery,
  listProjectsQuery,
} from "../../shared/contract/projects.ts";
import { SAMPLE_PREDICTION } from "../../shared/contract/samples.ts";

type Schema = { safeParse(value: unknown): { success: boolean } };
const accepts = (schema: Schema, value: unknown) => schema.safeParse(value).success;

test("a new project with nothing but title and prompt → no description", () => {
  expect(createProjectBody.parse({ title: "t", textPrompt: "p" })).toEqual({
    title: "t",
    textPrompt: "p",
    description: "",
  });
});

describe("a change needs at least one field, and says nothing of the others", () => {
  test.each<[object, boolean]>([
    [{}, false],
    [{ title: undefined }, false],
    [{ title: "t" }, true],
    [{ textPrompt: "p" }, true],
    [{ description: "" }, true],
    [{ title: "" }, false],
    [{ title: null }, false],
    [{ title: "t", updatedAt: "2026-11-21T12:00:00Z" }, false],
  ])("%j → %s", (body, fits) => {
    expect(accepts(changeProjectBody, body)).toBe(fits);
  });
  test("what is absent stays absent: no default overwrites what there is", () => {
    expect(changeProjectBody.parse({ title: "t" })).toEqual({ title: "t" });
  });
});

describe("the query of a list", () => {
  test("nothing → 20 rows from the newest on", () => {
    expect(listProjectsQuery.parse({})).toEqual({ limit: 20 });
    expect(listPredictionsQuery.parse({})).toEqual({ limit: 20 });
  });
  test.each<[Record<string, string>, boolean]>([
    [{ limit: "1" }, true],
    [{ limit: "100" }, true],
    [{ limit: "007" }, true],
    [{ limit: "0" }, false],
    [{ limit: "101" }, false],
    [{ limit: "1.0" }, false],
    [{ limit: "" }, false],
    [{ limit: "٣" }, false],
    [{ include: "predictions" }, true],
    [{ include: "predictions,files" }, false],
    [{ include: "" }, false],
    [{ page: "2" }, false],
  ])("%j → %s", (query, fits) => {
    expect(accepts(listProjectsQuery, query)).toBe(fits);
  });
  test("the predictions of a step, of one that exists", () => {
    expect(STEPS.every((step) => accepts(listPredictionsQuery, { step }))).toBe(true);
    expect(accepts(listPredictionsQuery, { step: "middle-frame" })).toBe(false);
    expect(accepts(listPredictionsQuery, { include: "predictions" })).toBe(false);
  });
});

test("the latest predictions name every step, with null where none was started", () => {
  const none = { "first-frame": null, "last-frame": null, video: null };
  expect(accepts(latestPredictions, none)).toBe(true);
  expect(accepts(latestPredictions, { ...none, video: SAMPLE_PREDICTION })).toBe(true);
  for (const step of STEPS) expect(accepts(latestPredictions, { ...none, [step]: undefined })).toBe(false);
});
