import { closestMatch } from "leven"; // the distance between two names
import type { z } from "zod";
import { ApiError, type ErrorDetail } from "../http/errors.ts";
import { retryAfterJitter } from "../http/retry-after.ts";

/** What is logged of a failed call: codes only, never row data, prompts or URLs. */
export type UpstreamFailure = { from: "database" | "storage"; operation: string; status: number; code: string };

export const internal = (cause: unknown): ApiError =>
  new ApiError(
    "internal",
    "Something went wrong on our side. Try again. If it keeps happening, report the requestId.",
    {
      cause,
    },
  );

export const unavailable = (cause: unknown): ApiError =>
  new ApiError(
    "unavailable",
    "The service cannot be reached at the moment. Wait for the time in Retry-After, then try again.",
    { cause, headers: retryAfterJitter() },
  );

/** The functions are newer than the database, or PostgREST has not seen a migration or a restored dump yet. */
export const schemaOutdated = (cause: unknown): ApiError =>
  new ApiError(
    "schema_outdated",
    "The database lacks migrations that this version of the functions needs. Apply them (supabase db push, or npm run deploy), and expose the schemas keyframe and keyframe_worker. If both are done, as after a restored dump, run in SQL: notify pgrst, 'reload schema'.",
    { cause, headers: retryAfterJitter() },
  );

/** `sentence` says what is wrong with the session; it contains no part of the token. */
export const unauthorized = (sentence: string, cause?: UpstreamFailure): ApiError =>
  new ApiError("unauthorized", `${sentence} Sign in and send the session token as Authorization: Bearer <token>.`, {
    cause,
  });

/** A body can have thousands of unknown fields with long names; this keeps the answer small. */
const MAX_DETAILS = 20;
const MAX_PATH_CHARACTERS = 100;

const lettersOf = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");

/** What to do about an unknown field, given the known ones: `project_id` may be projectId, `prompt` textPrompt, `titel` title. */
export function unknownField(name: string, known: string[]): string {
  const sent = lettersOf(name.slice(0, MAX_PATH_CHARACTERS));
  const byLetters = new Map(known.map((one) => [lettersOf(one), one]));
  const parts = [...byLetters.keys()].filter((one) => sent.length > 1 && (one.includes(sent) || sent.includes(one)));
  const near = parts.length > 0 ? parts : [...byLetters.keys()];
  const maxDistance = parts.length > 0 ? MAX_PATH_CHARACTERS : Math.ceil(sent.length * 0.4);
  const meant = byLetters.get(closestMatch(sent, near, { maxDistance }) ?? "");
  return `Unknown field. ${meant === undefined ? "Leave it out." : `Did you mean ${meant}?`}`;
}

/** invalid_request with the first problem of each field in `details`. `schema` has the names of the known fields. */
export function invalidRequest(error: z.ZodError, schema?: z.ZodType): ApiError {
  const { shape = {} }: { shape?: object } = Object(schema);
  const details = new Map<string, string>();
  const add = (path: PropertyKey[], message: string) => {
    const name = path.map(String).join(".").slice(0, MAX_PATH_CHARACTERS);
    if (!details.has(name)) details.set(name, message);
  };
  for (const issue of error.issues) {
    if (issue.code === "unrecognized_keys") {
      const known = issue.path.length === 0 ? Object.keys(shape) : [];
      for (const key of issue.keys) add([...issue.path, key], unknownField(key, known));
    } else add(issue.path, issue.message);
  }
  return invalidFields([...details].map(([path, message]) => ({ path, message })));
}

/** invalid_request with one detail per field. */
export const invalidFields = (details: ErrorDetail[]): ApiError =>
  new ApiError("invalid_request", "The request is invalid. Correct the fields named in details and send it again.", {
    details: details.slice(0, MAX_DETAILS),
  });

const EXPECTED: Record<string, string> = {
  string: "text",
  int: "a whole number",
  number: "a number",
  object: "an object",
  array: "a list",
  boolean: "true or false",
};

/** Messages for issues that the contract has no message for. */
export const issueSentence: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === "invalid_type") {
    return issue.input === undefined ? "Is required." : `Must be ${EXPECTED[issue.expected] ?? issue.expected}.`;
  }
  if (issue.code === "invalid_value")
    return `Must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.join(", ")}.`;
  if (issue.code === "too_small" && issue.origin !== "string") return `Must be at least ${issue.minimum}.`;
  if (issue.code === "too_big" && issue.origin !== "string") return `Must be at most ${issue.maximum}.`;
  return undefined;
};
