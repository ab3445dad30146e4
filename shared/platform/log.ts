import { redactedLine } from "./redacted-line.ts";

type Fields = Record<string, unknown>;
type Level = "info" | "warn" | "error";

/** Writes one line of JSON per event: time (UTC), level, event, then the fields. */
export type Log = Record<Level, (event: string, fields?: Fields) => void>;

/**
 * A log that adds `base` (for example the name of the function) to every line.
 * Log identifiers, codes and numbers only: never tokens, secrets, prompts, row data or signed URLs.
 */
export function createLog(base: Fields, write: (line: string) => void = console.log): Log {
  const writer = (level: Level) => (event: string, fields?: Fields) =>
    write(JSON.stringify({ time: new Date().toISOString(), level, event, ...base, ...fields }));
  return { info: writer("info"), warn: writer("warn"), error: writer("error") };
}

/** The message of an error and its cause for a log line, without URLs, which can contain tokens. */
export function describeError(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? `, because of ${String(error.cause)}` : "";
  return redactedLine(String(error) + cause);
}
