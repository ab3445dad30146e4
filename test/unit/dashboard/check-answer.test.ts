import { expect, test } from "vitest";
import { checkObject, checkRows } from "../../../dashboard/src/queries/check-answer.ts";

const ROW = { title: "Pier", elementIds: ["e"] };
const COLUMNS = { title: "text", elementIds: "texts" } as const;

test("an answer with the fields of its query → the answer", () => {
  expect(checkObject({ signedURL: "/a" }, { signedURL: "text" })).toEqual({ signedURL: "/a" });
  expect(checkRows([ROW, ROW], COLUMNS)).toEqual([ROW, ROW]);
  expect(checkRows([], COLUMNS)).toEqual([]);
});

test.each<[answer: unknown, field: string]>([
  [null, "rows"],
  [ROW, "rows"],
  [[null], "title"],
  [[ROW, { ...ROW, title: 1 }], "title"],
  [[{ ...ROW, elementIds: "e" }], "elementIds"],
  [[{ ...ROW, elementIds: [null] }], "elementIds"],
])("an answer of another shape, %j → an error that names “%s”", (answer, field) => {
  expect(() => checkRows(answer, COLUMNS)).toThrow(`The service's answer has no valid “${field}”.`);
});
