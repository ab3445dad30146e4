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

const MOST = 300;

/**
 * What the provider said, fit for a row that its owner reads: one line of at most 300 characters without addresses
 * (they may carry tokens) and without inline data. Empty when it said nothing readable.
 */
export function providerSentence(said: unknown): string {
  if (said === null || said === undefined) return "";
  const text = typeof said === "string" ? said : JSON.stringify(said);
  const line = text
    .slice(0, 10_000)
    .replace(/\b(?:https?|data):\S+/gi, "[address]")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .toWellFormed()
    .trim();
  const characters = [...line];
  return characters.length <= MOST ? line : `${characters.slice(0, MOST - 1).join("")}…`;
}

/** An error as a log line may have it: what it says and what caused it, without addresses, for they may carry tokens. */
export function describeError(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? `, because of ${String(error.cause)}` : "";
  return providerSentence(String(error) + cause);
}
