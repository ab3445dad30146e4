import type { Output } from "./types.ts";

/** A signed URL that is valid for less than this is replaced. */
const MIN_LEFT_MS = 10 * 60_000;

/**
 * Each read returns new signed URLs. An unchanged file keeps the URL in `kept` while it is valid: with a new one, a video would start
 * over. Changes `data`, the result of the read.
 */
export function keepUrls(data: unknown, kept: Map<string, Output>): void {
  if (typeof data !== "object" || data === null) return;
  if (!("sha256" in data)) {
    for (const part of Object.values(data)) keepUrls(part, kept);
    return;
  }
  const output = data as Output; // only outputs have a hash
  const before = kept.get(output.path);
  const isGood = before?.sha256 === output.sha256 && Date.parse(before.expiresAt) - Date.now() > MIN_LEFT_MS;
  if (isGood) Object.assign(output, before);
  else kept.set(output.path, { ...output });
}
