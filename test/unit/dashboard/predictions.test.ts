import { type MutationMeta, MutationObserver, QueryObserver } from "@tanstack/react-query";
import { describe, expect, test, vi } from "vitest";
import {
  type FailureCode,
  KeyframeError,
  type KeyframeErrorCode,
  type Output,
  type Prediction,
} from "../../../client/index.ts";
import { selectionOf } from "../../../dashboard/src/queries/project-queries.ts";
import {
  failureTitle,
  outdatedWords,
  remedyFor,
  statusWords,
  stepWords,
  timedOf,
} from "../../../dashboard/src/takes/status-words.ts";
import { CHANGES_NOTHING, createQueryClient, IS_SHOWN } from "../../../dashboard/src/queries/query-client.ts";
import { SAMPLE_PREDICTION } from "../../../shared/contract/samples.ts";

/** A prediction of the minute that its name says. */
const at = (minute: number, status: Prediction["status"], more: Partial<Prediction> = {}): Prediction => ({
  ...SAMPLE_PREDICTION,
  step: "first-frame",
  status,
  output: status === "succeeded" ? SAMPLE_PREDICTION.output : null,
  predictionId: `of minute ${minute}`,
  createdAt: `2026-03-01T10:0${minute}:00.000Z`,
  ...more,
});

test("an output read again → keeps its signed URL, until that fails to load", () => {
  const outputs = new Map<string, Output>();
  const queries = createQueryClient(outputs, () => undefined);
  const read = (url: string) => {
    const output = { ...SAMPLE_PREDICTION.output, url, expiresAt: new Date(Date.now() + 1_800_000).toISOString() };
    queries.setQueryData(["project"], { takes: [at(1, "succeeded", { output })] });
    return [queries.getQueryData(["project"]), () => outputs.delete(output.path)] as const;
  };
  const withUrl = (url: string) => expect.objectContaining({ output: expect.objectContaining({ url }) });
  expect(read("first")[0]).toEqual({ takes: [withUrl("first")] });
  const [second, forget] = read("second");
  expect(second).toEqual({ takes: [withUrl("first")] });
  forget();
  expect(read("third")[0]).toEqual({ takes: [withUrl("third")] });
});

const refusal = (code: KeyframeErrorCode, status: number | null) => new KeyframeError(code, "No.", { status });
test.each<[what: string, error: KeyframeError | null, meta: MutationMeta, reads: number, isWaitedFor: boolean]>([
  ["that succeeded", null, {}, 1, true],
  ["that succeeded, and is shown already", null, { ...IS_SHOWN }, 1, false],
  ["that succeeded, and changes nothing", null, { ...CHANGES_NOTHING }, 0, false],
  ["that was refused", refusal("budget_exceeded", 402), {}, 1, false],
  ["that was refused because of a change elsewhere", refusal("precondition_failed", 412), IS_SHOWN, 1, true],
  ["that had no answer", refusal("network", null), {}, 0, false],
])(
  "a change %s, and reads take long → shown data are read again, and waited for where necessary",
  async (_what, error, meta, reads, isWaitedFor) => {
    const queries = createQueryClient(new Map(), () => undefined);
    const read = Promise.withResolvers<string>();
    const queryFn = vi.fn(() => read.promise);
    const shown = new QueryObserver(queries, {
      queryKey: ["shown"],
      queryFn,
      initialData: "before",
      staleTime: 60_000,
    });
    const close = shown.subscribe(() => undefined);
    const change = new MutationObserver(queries, {
      meta,
      mutationFn: () => (error === null ? Promise.resolve() : Promise.reject(error)),
    });
    const ended = change.mutate().catch(() => undefined);
    await vi.waitFor(() => expect(queryFn).toHaveBeenCalledTimes(reads));
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 50))]);
    expect(change.getCurrentResult().isPending).toBe(isWaitedFor);
    read.resolve("after");
    await ended;
    expect(change.getCurrentResult().error).toBe(error);
    close();
  },
);

test("the latest run is chosen → nothing is selected; an earlier or hidden one → that one is selected", () => {
  const [take, latest] = [at(1, "succeeded"), at(2, "succeeded")];
  const project = { predictions: { "first-frame": latest, "last-frame": null, video: null } };
  expect(selectionOf(project, latest)).toEqual({ "first-frame": null });
  expect(selectionOf(project, take)).toEqual({ "first-frame": take.predictionId });
  expect(selectionOf(project, { ...latest, hidden: true })).toEqual({ "first-frame": latest.predictionId });
});

test.each<[Partial<Prediction>, words: string]>([
  [{ status: "queued", queuePosition: null }, "Queued"],
  [{ status: "queued", queuePosition: 0 }, "Queued"],
  [{ status: "queued", queuePosition: 1 }, "Queued, number 1 in the queue"],
  [{ status: "starting", queuePosition: null }, "Starting"],
  [{ status: "processing", progress: null }, "Generating"],
  [{ status: "processing", progress: 0.999 }, "Generating, 99 %"],
  [{ status: "succeeded", progress: 1 }, "Done"],
  [{ status: "failed" }, "Failed"],
  [{ status: "canceled" }, "Canceled"],
])("a prediction %o → “%s”", (state, words) => {
  expect(statusWords({ ...SAMPLE_PREDICTION, step: "first-frame", status: "queued", ...state })).toBe(words);
});

const earlier = at(1, "succeeded");
test.each<[words: string, timed: "latest" | "take", latest: Prediction, take: Prediction | null]>([
  ["Done", "latest", earlier, earlier],
  ["Failed", "latest", at(2, "failed"), null],
  ["Ready, but the latest attempt failed", "take", at(2, "failed"), earlier],
  ["Ready, but the latest attempt was canceled", "take", at(2, "canceled"), earlier],
  ["Ready, but the latest take is not used", "take", at(2, "succeeded"), earlier],
  ["Starting", "latest", at(2, "starting"), earlier],
  ["Ready, but the latest take is hidden", "take", at(2, "succeeded", { hidden: true }), earlier],
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

  type Row = [why: string, first: Prediction | null | undefined, last: Prediction | null, words: string];
  const elements = (...changed: Prediction["changedElements"][number]["changed"]) => [
    { elementId: "e", name: "Anna", changed },
  ];
  test.each<[...Row, elements?: Prediction["changedElements"]]>([
    ["another first frame is selected", replaced, shown, "Made with a first frame that is not selected."],
    ["its last frame was deleted", shown, null, "Its last frame was deleted."],
    ["both", replaced, null, "Made with a first frame that is not selected. Its last frame was deleted."],
    ["a frame of another project is current", { ...last, projectId: "another" }, null, "Its last frame was deleted."],
    ["not read yet", undefined, shown, "Made with a frame that is not selected."],
    ["an element has changed", shown, shown, "Anna has changed.", elements("text", "imagePaths")],
    ["an element was deleted", shown, shown, "Anna was deleted.", elements("deleted")],
  ])("a take is outdated, %s → the words for that", (_, first, other, words, changed = []) => {
    const frames = [
      { name: "first frame", frame: first },
      { name: "last frame", frame: other },
    ];
    expect(outdatedWords(project, frames, changed, false)).toBe(words);
  });

  test("the previous shot shows another video → the take says that it is outdated for that reason", () => {
    expect(outdatedWords(project, [], [], true)).toBe("The previous shot has changed, or shows another video.");
  });
});

const AGAIN = "Try again.";
const TOO_LARGE =
  "Choose a lower resolution, a shorter video or another model, or ask an administrator to raise the upload limit in Storage.";
const CHANGE = "Change the prompt or the image, then generate it again.";

const LATER = "of_a_later_version" as FailureCode; // the service may be newer than the page

test.each<[code: FailureCode, retryable: boolean, message: string, remedy: string | null]>([
  ["deadline_exceeded", true, "It took longer than this step may take. Run the step again.", null],
  ["provider_lost", true, "The provider no longer knows this run. Run the step again.", null],
  ["provider_failed", true, "The sea was too rough.", AGAIN],
  ["provider_failed", true, "The face came out again and again.", AGAIN],
  ["storage_unavailable", true, "The output could not be stored.", AGAIN],
  [LATER, true, "Something new. Run the step again.", AGAIN],
  ["output_too_large", false, "The provider's output is larger than 200 MiB.", TOO_LARGE],
  [LATER, false, "Something new.", CHANGE],
  ["provider_rejected_input", false, "The provider rejected the input. Change the prompt or the images.", null],
  ["model_unavailable", false, "The provider does not have this model. Choose another, or name none.", null],
  [
    "content_rejected",
    false,
    "The model's safety filter rejected the prompt or an image. Try different wording or images.",
    null,
  ],
])("a failure with %s (retryable: %s), in any words → says what to do, once", (code, retryable, message, remedy) => {
  expect(remedyFor({ code, retryable, message })).toBe(remedy);
});

test.each<[code: FailureCode, stage: "input" | "output" | undefined, title: string | null]>([
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
