type Fields = Record<string, unknown>;
type Level = "info" | "warn" | "error";

/** Writes one line of JSON per event: time (UTC), level, event, then the fields. */
export type Log = Record<Level, (event: string, fields?: Fields) => void>;

/**
 * A log whose every line carries `base` (for example the name of the function and the requestId).
 * Give it identifiers, codes and numbers only: never tokens, secrets, prompts, row data or signed addresses.
 */
export function createLog(base: Fields, write: (line: string) => void = console.log): Log {
  const writer = (level: Level) => (event: string, fields?: Fields) =>
    write(JSON.stringify({ time: new Date().toISOString(), level, event, ...base, ...fields }));
  return { info: writer("info"), warn: writer("warn"), error: writer("error") };
}
