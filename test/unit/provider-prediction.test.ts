import { expect, test } from "vitest";
import { providerPrediction, providerState } from "../../shared/replicate/provider-prediction.ts";
import { providerSentence } from "../../shared/platform/log.ts";

const run = (change: Record<string, unknown> = {}) =>
  providerPrediction.parse({ id: "abc123", status: "succeeded", version: "hidden", metrics: {}, ...change });

test.each([
  ["a string", "https://replicate.delivery/a/out.png", "https://replicate.delivery/a/out.png"],
  [
    "a list",
    ["https://replicate.delivery/a/0.png", "https://replicate.delivery/a/1.png"],
    "https://replicate.delivery/a/0.png",
  ],
  ["null", null, null],
  ["an empty list", [], null],
  ["an object", { video: "https://replicate.delivery/a" }, null],
  ["a text that is no address", "a cat", null],
  ["an address too long for a row", `https://replicate.delivery/${"a".repeat(3000)}`, null],
])("output %s → its address or null", (_name, output, url) => {
  expect(providerState(run({ output })).output_url).toBe(url);
});

test("output of a run that goes on → not taken yet", () => {
  expect(
    providerState(run({ status: "processing", output: "https://replicate.delivery/a.png" })).output_url,
  ).toBeNull();
});

test("a run without output, error and logs → accepted", () => {
  expect(providerState(run({ status: "starting" }))).toEqual({
    provider_prediction_id: "abc123",
    provider_status: "starting",
    output_url: null,
    progress: null,
    error_message: null,
  });
});

test.each(["starting", "processing", "succeeded", "failed", "canceled", "aborted"])(
  "status %s → accepted",
  (status) => {
    expect(providerState(run({ status })).provider_status).toBe(status);
  },
);

test.each([
  ["an unknown status", { id: "a", status: "paused" }],
  ["no status", { id: "a" }],
  ["an id that would change a path", { id: "../account", status: "failed" }],
  ["logs that are no text", { id: "a", status: "failed", logs: 7 }],
  ["a list", []],
])("%s → refused", (_name, body) => {
  expect(providerPrediction.safeParse(body).success).toBe(false);
});

test.each([
  ["a sentence", "Out of memory", "Out of memory"],
  ["nothing", null, ""],
  ["an object", { reason: "nsfw" }, '{"reason":"nsfw"}'],
  ["lines and control characters", "one\n\ttwo\u0007", "one two"],
  ["an address with a token", "cannot read https://x.test/a?token=secret now", "cannot read [address] now"],
  ["inline data", "bad data:image/png;base64,AAAA", "bad [address]"],
  ["half a surrogate pair", "a\ud800b", "a\ufffdb"],
])("what the provider said, %s → %j", (_name, said, sentence) => {
  expect(providerSentence(said)).toBe(sentence);
});

test("what the provider said, a page → 300 characters of it", () => {
  const sentence = providerSentence("é😀".repeat(5000));
  expect([...sentence]).toHaveLength(300);
  expect(sentence.endsWith("…")).toBe(true);
});
