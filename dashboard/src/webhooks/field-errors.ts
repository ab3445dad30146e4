import { KeyframeError } from "../../../client/index.ts";

const FIELDS = ["url", "description", "eventTypes"];

/** What the service says of each field of an endpoint; null when it is about something else too. */
export function fieldErrors(error: unknown): Record<string, string> | null {
  if (!(error instanceof KeyframeError) || error.details.length === 0) return null;
  const told = error.details.map(({ path, message }) => [path.split(".")[0] ?? "", message] as const);
  return told.every(([field]) => FIELDS.includes(field)) ? Object.fromEntries(told) : null;
}
