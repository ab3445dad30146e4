import { expect, test } from "vitest";
import { KeyframeError, type KeyframeErrorCode } from "../../client/index.ts";
import { isPassing } from "../../dashboard/src/app/query-client.ts";

test.each<[code: KeyframeErrorCode, status: number | null, passes: boolean]>([
  ["network", null, true],
  ["no_token", null, true],
  ["unavailable", 500, true],
  ["rate_limited", 429, true],
  ["not_an_envelope", 502, true],
  ["not_an_envelope", 524, true],
  ["not_an_envelope", 546, true],
  ["not_an_envelope", 200, false],
  ["not_an_envelope", 404, false],
  ["internal", 500, false],
  ["not_found", 404, false],
  ["unauthorized", 401, false],
])("a read that ended with %s (%s) → asked for again for as long as the page is open: %s", (code, status, passes) => {
  expect(isPassing(new KeyframeError(code, "No.", { status }))).toBe(passes);
});

test("an error of the page itself → not asked for again", () => {
  expect(isPassing(new TypeError("no such field"))).toBe(false);
});
