import { expect, test } from "vitest";
import { GenerationError, hasEnded, mustSucceed } from "../../client/index.ts";
import { predictionStatus } from "../../shared/contract/predictions.ts";
import { predictionWith } from "../support/client/server.ts";

const output = {
  url: "https://abc.supabase.co/storage/v1/object/sign/keyframe-outputs/a.png?token=t",
  path: "a.png",
  contentType: "image/png",
  bytes: 1,
  sha256: "0".repeat(64),
  width: 1,
  height: 1,
  expiresAt: "2026-03-01T01:00:00Z",
};

test("hasEnded → of the contract's states, the three that are final", () => {
  const final = predictionStatus.options.filter((status) => hasEnded(predictionWith({ status })));
  expect(final).toEqual(["succeeded", "failed", "canceled"]);
});

test("mustSucceed of what succeeded → the same, its output there", () => {
  const made = predictionWith({ status: "succeeded", output });
  expect(mustSucceed(made)).toEqual(made);
});

const failed = (retryable: boolean) => ({ code: "provider_failed", message: "The model said no.", retryable });

test.each([
  [
    { status: "failed", error: failed(true) },
    { code: "provider_failed", retryable: true },
  ],
  [
    { status: "failed", error: failed(false) },
    { code: "provider_failed", retryable: false },
  ],
  [{ status: "canceled" }, { code: "canceled" }],
  [{ status: "processing" }, { code: "processing" }],
] as const)("mustSucceed of %j → GenerationError with its code, sentence and retryable", (fields, thrown) => {
  const prediction = predictionWith(fields);
  const sentence = "error" in fields ? "The model said no." : "no reason given";
  const message = `video ${fields.status}: ${sentence}`;
  expect(() => mustSucceed(prediction)).toThrow(GenerationError);
  expect(() => mustSucceed(prediction)).toThrow(
    expect.objectContaining({ name: "GenerationError", message, prediction, ...thrown }),
  );
});
