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

test.each([
  ["provider_failed", true],
  ["provider_rejected", false],
])("mustSucceed of what failed as %s → GenerationError with its code, sentence and retryable", (code, retryable) => {
  const prediction = predictionWith({ status: "failed", error: { code, message: "The model said no.", retryable } });
  const thrown = catchError(() => mustSucceed(prediction));
  expect(thrown).toBeInstanceOf(GenerationError);
  expect(thrown).toMatchObject({ name: "GenerationError", code, retryable, prediction });
  expect(thrown).toHaveProperty("message", "video failed: The model said no.");
});

test("mustSucceed of what was cancelled, or still runs → GenerationError with the status", () => {
  for (const status of ["canceled", "processing"] as const) {
    expect(catchError(() => mustSucceed(predictionWith({ status })))).toMatchObject({ code: status });
  }
});

function catchError(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error("It did not throw.");
}
