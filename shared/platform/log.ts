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

const MAX_CHARACTERS = 300;

/** Parts of a web page that are not its text. The last alternative matches a tag that is cut off. */
const MARKUP = /<!--.*?-->|<(script|style)\b.*?<\/\1\s*>|<[a-z!/][^<>]*>|<(?:!|\/?[a-z])[^<>]*$/gis;

/** A credential in a header, and what Replicate's tokens, our keys and sessions begin with. */
const SECRET = /\b(?:Bearer +(?=\S*[\d_])\S{8,}|(?:r8_|sb_secret_|whsec_|kf_|eyJ)[\w+/=.-]+)/g;

/**
 * Another service's message, safe to log and to show: one line of at most 300 characters without URLs (they can contain tokens), inline
 * data, secrets and markup, such as that of a gateway's page. Empty when there is nothing readable.
 */
export function redactedLine(said: unknown): string {
  if (said === null || said === undefined) return "";
  const text = typeof said === "string" ? said : JSON.stringify(said);
  const line = text
    .slice(0, 10_000)
    .replace(MARKUP, " ")
    .replace(/(?:https?:|\bdata:)\S+/gi, "[address]")
    .replace(SECRET, "[secret]")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .toWellFormed()
    .trim();
  const characters = [...line];
  return characters.length <= MAX_CHARACTERS ? line : `${characters.slice(0, MAX_CHARACTERS - 1).join("")}…`;
}
