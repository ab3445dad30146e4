import { expect, test } from "vitest";
import { progressLine } from "../../../local/simulator/run-prediction.ts";
import { redactedLine } from "../../../shared/platform/log.ts";
import { parseProgress, providerPrediction, runState } from "../../../shared/replicate/provider-prediction.ts";

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
  ["a text that is not an address", "a cat", null],
  ["an address with a zero, which Postgres does not store", "https://replicate.delivery/\u0000.png", null],
  ["an address with half of a character, neither", "https://replicate.delivery/\ud800.png", null],
  ["an address too long for a row", `https://replicate.delivery/${"a".repeat(3000)}`, null],
])("output %s → its address or null", (_name, output, url) => {
  expect(runState(run({ output })).output_url).toBe(url);
});

test("an output that is not one URL → each file with its path, without what is deep, long, endless or not a URL", () => {
  const url = "https://replicate.delivery/a.mp4";
  const filesOf = (output: unknown) => runState(run({ output })).output_files;
  expect(filesOf({ video: url, seed: 7, text: "a cat" })).toEqual([{ at: "video", url }]);
  expect(filesOf([[url]])).toEqual([{ at: "[0][0]", url }]);
  expect(filesOf({ images: [url, { url }] })).toEqual([
    { at: "images[0]", url },
    { at: "images[1].url", url },
  ]);
  expect(filesOf({ "Clip 1": url, data: { output: { videos: [{ url }] } } })).toEqual([
    { at: "Clip_1", url },
    { at: "data.output.videos[0].url", url },
  ]);
  for (const none of [
    url,
    null,
    {},
    { a: { b: { c: { d: { e: { f: { g: { h: { i: url } } } } } } } } },
    { [`a${"b".repeat(100)}`]: url },
    { a: `${url}${"a".repeat(3000)}` },
    { a: "data:,a" },
    { a: "https://replicate.delivery/\u0000.mp4", b: "https://replicate.delivery/\ud800.mp4" },
  ])
    expect(filesOf(none)).toBeNull();
  expect(filesOf(Array(1000).fill(url))).toHaveLength(20);
  const frames = Array(1000).fill("https://replicate.delivery/a.png");
  expect(filesOf({ frames, masks: frames, video: url })?.at(-1)).toEqual({ at: "video", url });
  expect(filesOf(Array(20).fill(frames))).toHaveLength(100);
});

test("a run without error and logs in each status → accepted, with its output only if succeeded", () => {
  const output = "https://replicate.delivery/a.png";
  for (const status of ["starting", "processing", "succeeded", "failed", "canceled", "aborted"]) {
    expect(runState(run({ status, output }))).toEqual({
      ...{ id: "abc123", status, progress: null, error_message: null },
      output_url: status === "succeeded" ? output : null,
      output_files: null,
      ...{ failure: null, stage: null, metrics: null },
    });
  }
});

test("metrics of the provider → numbers, short texts and booleans, once the run has ended", () => {
  const counted = { predict_time: 4.2, image_output_count: 1, resolution_target: "1080p", with_audio: true };
  const others = {
    "a b": 1,
    nested: {},
    list: [1],
    text: "a".repeat(101),
    none: null,
    endless: Number.POSITIVE_INFINITY,
  };
  for (const status of ["succeeded", "failed", "canceled", "aborted"])
    expect(runState(run({ status, metrics: { ...others, ...counted } })).metrics).toEqual(counted);
  expect(runState(run({ status: "processing", metrics: counted })).metrics).toBeNull();
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`count_${index}`, index]));
  expect(Object.keys(runState(run({ metrics: many })).metrics ?? {})).toHaveLength(50);
  for (const metrics of [undefined, null, "none", [], 7]) expect(runState(run({ metrics })).metrics).toBeNull();
});

test.each([
  ["a sentence", "Out of memory", "Out of memory"],
  ["nothing", null, ""],
  ["an object", { reason: "nsfw" }, '{"reason":"nsfw"}'],
  ["lines and control characters", "one\n\ttwo\u0007", "one two"],
  ["an address with a token", "cannot read https://x.test/a?token=secret now", "cannot read [address] now"],
  [
    "a header shown by a proxy",
    "Authorization: Bearer r8_abcDEF123 was refused",
    "Authorization: [secret] was refused",
  ],
  ["keys", "api key r8_abcDEF123, sb_secret_A-b_c and whsec_AbC+/=", "api key [secret], [secret] and [secret]"],
  ["an address behind an underscore", "url_https://x.test/a?token=secret", "url_[address]"],
  ["a word that follows another", "Bearer authentication failed", "Bearer authentication failed"],
  ["inline data", "bad data:image/png;base64,AAAA", "bad [address]"],
  [
    "a gateway's page",
    "HTTP 502: <html>\n<head><title>502 Bad Gateway</title></head>\n<body><hr>nginx</body></html>",
    "HTTP 502: 502 Bad Gateway nginx",
  ],
  ["a page that is cut off", 'failed <script>alert(1)</script><div class="a', "failed"],
  ["a comparison", "1 < 2 and 3 > 2", "1 < 2 and 3 > 2"],
  ["half a surrogate pair", "a\ud800b", "a\ufffdb"],
  ["a page", "é😀".repeat(5000), `${"é😀".repeat(149)}é…`],
])("the provider's message %s → %j", (_name, said, sentence) => {
  expect(redactedLine(said)).toBe(sentence);
});

const SIGNED = "/storage/v1/object/sign/keyframe-outputs/o/p/frame.png?token=secret&prediction=1";
test.each([
  [
    "cannot connect",
    `HTTPSConnectionPool(host='p.supabase.co', port=443): Max retries exceeded with url: ${SIGNED} (Caused by NewConnectionError('refused'))`,
    true,
  ],
  ["a gateway's 502", `502 Server Error: Bad Gateway for url: https://p.supabase.co${SIGNED}`, true],
  ["an address that has expired", `Client error '400 Bad Request' for url 'https://p.supabase.co${SIGNED}'`, true],
  ["a time limit", { detail: `GET https://p.supabase.co${SIGNED} timed out` }, true],
  ["an upload that is gone", "404 Client Error: Not Found for url: https://api.replicate.com/v1/files/abc", true],
  ["a refusal", `Failed to fetch image from https://p.supabase.co${SIGNED}: 403`, true],
  ["a refusal in words", `Could not download https://p.supabase.co${SIGNED} (403 Forbidden)`, true],
  ["a status alone", `Error opening https://p.supabase.co${SIGNED}: status code 404`, true],
  ["an image that is too small", `Failed to load image https://p.supabase.co${SIGNED}: width must be 500`, false],
  ["an image that is none", `Prediction failed: cannot identify image file https://p.supabase.co${SIGNED}`, false],
  ["another server's 502", "502 Server Error: Bad Gateway for url: https://weights.test/model.bin", false],
  ["nothing", null, false],
])("a run that failed with %s → whether its images could be read", (_name, error, unreachable) => {
  expect(runState(run({ status: "failed", error })).failure).toBe(unreachable ? "input_unreachable" : null);
  expect(runState(run({ status: "canceled", error })).failure).toBe(null);
});

// Sentences of Replicate and of the vendors behind it, as users of theirs published them in 2025 and 2026.
test.each<[said: unknown, stage: "input" | "output" | null]>([
  ["The input or output was flagged as sensitive. Please try again with different inputs. (E005)", null],
  ["E005: rejected", null],
  ["All generated images contained NSFW content. Try running it again with a different prompt.", "output"],
  ["NSFW content detected. Try running it again, or try a different prompt.", "output"],
  ["NSFW content detected in the input image.", "input"],
  ["InputImageSensitiveContentDetected.PrivacyInformation: the input image may contain real person", "input"],
  [{ code: "OutputVideoSensitiveContentDetected.PolicyViolation", message: "may be related to copyright" }, "output"],
  ["input new_sensitive (1026)", "input"],
  ["output new_sensitive (1027)", "output"],
  ["Request Moderated", "input"],
  ["Content Moderated", "output"],
  ["The prompt could not be submitted. This prompt contains sensitive words that violate Google's practices.", "input"],
  ["Request blocked: The uploaded audio was flagged by Google safety review.", "input"],
  ["Your prompt was caught by our AI moderator. Please adjust it and try again!", "input"],
  ["Content was flagged by the safety system. Try different prompts or inputs.", null],
  ["Failure to pass the risk control system", null],
])("a run that failed with %j → its content was rejected, at stage %s", (error, stage) => {
  const state = runState(run({ status: "failed", error }));
  expect(state).toMatchObject({ failure: "content_rejected", stage });
  expect(state.error_message).toMatch(
    /^The model's safety filter rejected .* Try different wording or images\. The provider said: “/,
  );
});

test.each([
  ["Director: unexpected error handling prediction (E9828)", "interrupted"],
  ["Director: unexpected error handling prediction", "interrupted"],
  ["Director: unexpected error handling prediction (E6716)", "interrupted"],
  ["Prediction interrupted; please retry (code: PA)", "interrupted"],
  ["Service is currently unavailable due to high demand. Please try again later. (E003)", "interrupted"],
  ["Service is temporarily unavailable. Please try again later. (E004)", "interrupted"],
  ["Director: unexpected error handling prediction (E1001)", null], // out of memory: it would come again
  ["CUDA out of memory", null],
  ["Your account was flagged due to low credit.", null],
  ["Error running safety checker: CUDA error", null],
  ["The parameters `ratio` and `duration` specified in the request are not valid.", null],
  ["", null],
  [null, null],
])("a run that failed with %j → %s, with the provider's own words", (error, failure) => {
  const state = runState(run({ status: "failed", error }));
  expect(state).toMatchObject({ failure, stage: null, error_message: error || null });
});

test.each([
  ["no logs", null, null],
  ["prose with a per cent sign", "GPU memory: 95% used\nLoading weights", null],
  ["one bar", " 25%|██▌       | 12/48 [00:03<00:09]", 0.25],
  ["bars redrawn with carriage returns", "\r 10%|█         | 1/10\r 20%|██        | 2/10", 0.2],
  ["a bar with a label", "video:  45%|████▌     | 45/100 [00:12<00:15,  3.7it/s]", 0.45],
  ["a bar before other lines", "100%|██████████| 10/10\nEncoding\nUploading", 1],
  ["more than all", "140%|██████████| 14/10", 1],
  ["half a bar cut off at the end", " 30%|███       | 3/10\n 40", 0.3],
  ["a megabyte before the bar", `${"x".repeat(1024 * 1024)}\n 60%|██████    | 6/10`, 0.6],
  ["the simulator's own lines", progressLine(12, 48, 3), 0.25],
])("logs with %s → %s", (_name, logs, progress) => {
  expect(parseProgress(logs)).toBe(progress);
});
