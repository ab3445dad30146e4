import type { z } from "zod";
import { ApiError, type ErrorDetail } from "../../../shared/errors.ts";

/** A body can have thousands of unknown fields with long names; the answer stays small. */
const MOST_DETAILS = 20;
const LONGEST_PATH = 100;

/** What does not fit, as details { path, message }. */
export function invalidRequest(error: z.ZodError): ApiError {
  return invalidFields(
    error.issues.flatMap((issue): ErrorDetail[] => {
      const at = (path: PropertyKey[], message: string) => ({
        path: path.map(String).join(".").slice(0, LONGEST_PATH),
        message,
      });
      return issue.code === "unrecognized_keys"
        ? issue.keys.map((key) => at([...issue.path, key], "There is no such field. Leave it out."))
        : [at(issue.path, issue.message)];
    }),
  );
}

/** invalid_request with one detail per field. */
export const invalidFields = (details: ErrorDetail[]): ApiError =>
  new ApiError("invalid_request", "The request does not fit. Correct the fields named in details and send it again.", {
    details: details.slice(0, MOST_DETAILS),
  });

const EXPECTED: Record<string, string> = {
  string: "text",
  int: "a whole number",
  number: "a number",
  object: "an object",
};

/** Sentences for what the contract itself says nothing about. */
export const issueSentence: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === "invalid_type") {
    return issue.input === undefined ? "Is required." : `Must be ${EXPECTED[issue.expected] ?? issue.expected}.`;
  }
  if (issue.code === "invalid_format" && issue.format === "uuid") return "Must be a UUID.";
  if (issue.code === "too_small" && issue.origin !== "string") return `Must be at least ${issue.minimum}.`;
  if (issue.code === "too_big" && issue.origin !== "string") return `Must be at most ${issue.maximum}.`;
  return undefined;
};
