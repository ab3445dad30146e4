import { KeyframeError } from "../../../client/index.ts";

/** What went wrong and what to do, for a person. */
export function errorSentence(error: unknown): string {
  if (!(error instanceof KeyframeError)) return error instanceof Error ? error.message : String(error);
  if (error.code === "network" || error.code === "no_token")
    return "The service does not answer. Check your connection, then try again.";
  if (error.code === "invalid_request" && error.details.length > 0) {
    return error.details.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join(" ");
  }
  return error.message;
}
