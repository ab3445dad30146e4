import { describe, expect, test } from "vitest";
import type { Output, Prediction, ProjectWithPredictions } from "../../client/index.ts";
import {
  laterPrediction,
  selectionOf,
  steadyPrediction,
  withPrediction,
} from "../../dashboard/src/projects/prediction-cache.ts";
import {
  failureTitle,
  outdatedWords,
  remedyFor,
  statusWords,
  stepWords,
  timedOf,
} from "../../dashboard/src/projects/status-words.ts";
import { SAMPLE_PREDICTION, SAMPLE_PROJECT } from "../../shared/contract/samples.ts";

const { output: SAMPLE_OUTPUT } = SAMPLE_PREDICTION;

/** A prediction of the minute that its name says. */
const at = (minute: number, status: Prediction["status"], more: Partial<Prediction> = {}): Prediction => ({
  ...SAMPLE_PREDICTION,
  step: "first-frame",
  status,
  output: status === "succeeded" ? SAMPLE_OUTPUT : null,
  predictionId: `of minute ${minute}`,
  createdAt: `2026-03-01T10:0${minute}:00.000Z`,
  ...more,
});

test.each<[why: string, known: Prediction | null, read: Prediction | null, shown: "known" | "read"]>([
  ["a run went on", at(1, "queued"), at(1, "processing"), "read"],
  ["an answer was overtaken", at(1, "processing"), at(1, "starting"), "known"],
  ["an end was overtaken", at(1, "succeeded"), at(1, "processing"), "known"],
  ["a cancel was overtaken", at(1, "canceled"), at(1, "queued"), "known"],
  ["a failure was overtaken", at(1, "failed"), at(1, "starting"), "known"],
  ["progress", at(1, "processing", { progress: 0.4 }), at(1, "processing", { progress: 0.6 }), "read"],
  ["the next run began", at(1, "succeeded"), at(2, "queued"), "read"],
  ["a start was overtaken", at(2, "queued"), at(1, "succeeded"), "known"],
  ["the first run", null, at(1, "queued"), "read"],
  ["a read from before the first run", at(1, "queued"), null, "known"],
])("%s → the state that is later shows", (_, known, read, shown) => {
  expect(laterPrediction(known, read)).toBe(shown === "known" ? known : read);
});

describe("the signed URL of an output that is read again", () => {
  const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
  const output = (url: string, more: Partial<Output> = {}): Output => ({
    ...SAMPLE_OUTPUT,
    url,
    expiresAt: inMinutes(60),
    ...more,
  });

  test.each<[what: string, first: Partial<Output>, second: Partial<Output>, url: "first" | "second"]>([
    ["valid for long → the same, so that the picture is not loaded again", { expiresAt: inMinutes(30) }, {}, "first"],
    ["about to expire → the new one", { expiresAt: inMinutes(9) }, {}, "second"],
    ["expired → the new one", { expiresAt: inMinutes(-1) }, {}, "second"],
    ["of another file → the new one", {}, { sha256: "0".repeat(64) }, "second"],
  ])("%s", (_, first, second, url) => {
    const path = `${crypto.randomUUID()}.png`;
    const read = (name: string, more: Partial<Output>) =>
      steadyPrediction(at(1, "succeeded", { output: output(name, { path, ...more }) })).output?.url;
    expect(read("first", first)).toBe("first");
    expect(read("second", second)).toBe(url);
  });
});

describe("the take that stands for a step", () => {
  const project = (selectedId: string | null, take: Prediction): ProjectWithPredictions => ({
    ...SAMPLE_PROJECT,
    selected: { "first-frame": selectedId, "last-frame": null, video: null },
    predictions: { "first-frame": take, "last-frame": null, video: null },
    takes: { "first-frame": take, "last-frame": null, video: null },
  });
  const take = at(1, "succeeded");
  const [next, failed] = [at(2, "succeeded"), at(2, "failed")];
  const renewed = at(1, "succeeded", { output: { ...SAMPLE_OUTPUT, url: "https://renewed" } });

  test.each([
    ["a new take, none selected", null, next, next],
    ["a new take, an earlier one selected", take.predictionId, next, take],
    ["a run that failed", null, failed, take],
    ["a new take that is hidden", null, { ...next, hidden: true }, take],
    ["the selected take, read again for a new URL", take.predictionId, renewed, renewed],
  ])("%s → the right one, and the run is the latest", (_, selectedId, run, shown) => {
    const { takes, predictions } = withPrediction(project(selectedId, take), run);
    expect([takes["first-frame"], predictions["first-frame"]]).toEqual([shown, run]);
  });

  test("the latest run is chosen → none is selected; another, or a hidden one → that one", () => {
    const latest = withPrediction(project(null, take), next);
    expect(selectionOf(latest, next)).toEqual({ "first-frame": null });
    expect(selectionOf(latest, take)).toEqual({ "first-frame": take.predictionId });
    expect(selectionOf(latest, { ...next, hidden: true })).toEqual({ "first-frame": next.predictionId });
  });
});

test.each<[Partial<Prediction>, words: string]>([
  [{ status: "queued", queuePosition: null }, "Queued"],
  [{ status: "queued", queuePosition: 0 }, "Queued"],
  [{ status: "queued", queuePosition: 1 }, "Queued, number 1 in line"],
  [{ status: "starting", queuePosition: null }, "Starting"],
  [{ status: "processing", progress: null }, "Generating"],
  [{ status: "processing", progress: 0.999 }, "Generating, 99 %"],
  [{ status: "succeeded", progress: 1 }, "Done"],
  [{ status: "failed" }, "Failed"],
  [{ status: "canceled" }, "Canceled"],
])("%o → “%s”", (state, words) => {
  expect(statusWords({ ...SAMPLE_PREDICTION, step: "first-frame", status: "queued", ...state })).toBe(words);
});

const earlier = at(1, "succeeded");
test.each<[words: string, timed: "latest" | "take", latest: Prediction, take: Prediction | null]>([
  ["Done", "latest", earlier, earlier],
  ["Failed", "latest", at(2, "failed"), null],
  ["Done, last run failed", "take", at(2, "failed"), earlier],
  ["Done, last run canceled", "take", at(2, "canceled"), earlier],
  ["Done, newest not used", "take", at(2, "succeeded"), earlier],
  ["Starting", "latest", at(2, "starting"), earlier],
  ["Done, newest hidden", "take", at(2, "succeeded", { hidden: true }), earlier],
  ["Hidden", "latest", at(2, "succeeded", { hidden: true }), null],
  ["Failed", "latest", at(2, "failed", { hidden: true }), null],
])("a step in words: “%s”, and the time of its %s run", (words, timed, latest, take) => {
  expect(stepWords(latest, take)).toBe(words);
  expect(timedOf(latest, take)).toBe(timed === "take" ? take : latest);
});

describe("why a take is outdated", () => {
  const shown = at(3, "succeeded");
  const project = { projectId: shown.projectId, takes: { "first-frame": shown, "last-frame": null, video: null } };
  const [replaced, last] = [at(1, "succeeded"), at(2, "succeeded")];

  test.each<[why: string, first: Prediction | null | undefined, last: Prediction | null, words: string]>([
    ["another first frame is selected", replaced, shown, "Made with another first frame than the one selected."],
    ["its last frame was deleted", shown, null, "Its last frame was deleted."],
    ["both", replaced, null, "Made with another first frame than the one selected. Its last frame was deleted."],
    ["a frame of another project is current", { ...last, projectId: "another" }, null, "Its last frame was deleted."],
    ["not read yet", undefined, shown, "Made with another frame than the one selected."],
  ])("%s → said", (_, first, other, words) => {
    const frames = [
      { name: "first frame", frame: first },
      { name: "last frame", frame: other },
    ];
    expect(outdatedWords(project, frames)).toBe(words);
  });
});

const AGAIN = "Try again.";
const TOO_LARGE =
  "Choose a lower resolution, a shorter video or another model, or ask an administrator to raise the upload limit in Storage.";
const CHANGE = "Change the prompt or the image, then generate it again.";

test.each<[code: string, retryable: boolean, message: string, remedy: string | null]>([
  ["deadline_exceeded", true, "It took longer than this step may take. Run the step again.", null],
  ["provider_lost", true, "The provider no longer knows this run. Run the step again.", null],
  ["provider_failed", true, "The sea was too rough.", AGAIN],
  ["provider_failed", true, "The face came out again and again.", AGAIN],
  ["storage_unavailable", true, "The output could not be stored.", AGAIN],
  ["of_a_later_version", true, "Something new. Run the step again.", AGAIN],
  ["output_too_large", false, "The provider's output is larger than 200 MiB.", TOO_LARGE],
  ["of_a_later_version", false, "Something new.", CHANGE],
  ["provider_rejected_input", false, "The provider rejected the input. Change the prompt or the images.", null],
  ["model_unavailable", false, "The provider does not have this model. Choose another, or name none.", null],
  ["content_rejected", false, "The provider rejected the content of the input. Change the prompt or the images.", null],
])(
  "a failure with %s (retryable: %s), whatever words its message has → what to do, once",
  (code, retryable, message, remedy) => {
    expect(remedyFor({ code, retryable, message })).toBe(remedy);
  },
);

test.each<[code: string, stage: "input" | "output" | undefined, title: string | null]>([
  ["content_rejected", "input", "Prompt or image rejected"],
  ["content_rejected", "output", "Result rejected"],
  ["content_rejected", undefined, "Content rejected"],
  ["model_unavailable", undefined, "Model not available"],
  ["provider_rejected_input", undefined, "Input rejected"],
  ["provider_failed", undefined, null],
])("a failure with %s, its stage %s → %s above its message", (code, stage, title) => {
  const error = { code, retryable: false, message: "As the service says.", ...(stage && { stage }) };
  expect(failureTitle(error)).toBe(title);
});
