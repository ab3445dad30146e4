import { KeyframeError } from "../../../client/index.ts";
import { exhaustedWords, refusalWords } from "./money.ts";

export const UNREACHABLE = "Cannot reach the service. Check your connection, then try again.";

export function errorSentence(error: unknown): string {
  if (!(error instanceof KeyframeError)) return error instanceof Error ? error.message : String(error);
  if (error.code === "network" || error.code === "no_token") return UNREACHABLE;
  if (error.code === "invalid_request" && error.details.length > 0) {
    return error.details.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join(" ");
  }
  if (error.budget !== null) return refusalWords(error.budget);
  if (error.balance !== null) return exhaustedWords(error.balance);
  if (isChangedElsewhere(error)) return "It was changed elsewhere. Check it, then try again.";
  return error.message;
}

/** The most characters of a prompt or a description. */
export const MAX_CHARACTERS = 4000;

/** Why a text is too long. The other rules are rarely broken. The service names them when it refuses. */
export const textProblem = (text: string, most = MAX_CHARACTERS): string | null =>
  [...text].length > most ? `At most ${most.toLocaleString("en")} characters.` : null;

export const titleProblem = (title: string): string | null => (title.trim() === "" ? "Enter a title." : null);

export const isRefusal = (error: unknown, ...codes: string[]): boolean =>
  error instanceof KeyframeError && codes.includes(error.code);

/** Whether the service answered that it did not do it. */
export const isRefused = (error: unknown): boolean =>
  error instanceof KeyframeError && error.status !== null && error.status < 500;

/** Whether a resource is deleted, unknown, or another user's. */
export const isGone = (error: unknown): boolean => isRefusal(error, "not_found");

/** The `catch` of a request that may be refused with this code. */
export const unless = (code: string) => (error: unknown) => {
  if (!isRefusal(error, code)) throw error;
};

/** The `catch` of a deletion: an earlier request whose answer was lost has deleted a missing resource. */
export const unlessGone = unless("not_found");

/** Whether somebody changed the resource after it was read here. */
export const isChangedElsewhere = (error: unknown): boolean => isRefusal(error, "precondition_failed");
