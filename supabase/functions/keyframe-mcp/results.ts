import type { CallToolResult } from "@modelcontextprotocol/server";
import type { EnvelopeError } from "../../../shared/http/errors.ts";
import type { Picture, Shown } from "./pictures.ts";
import { inTools } from "./list-tools.ts";

/** The data as JSON, for programs and as text; then links to the files, and the pictures. */
export function succeed(data: Record<string, unknown>, files: Shown[], pictures: Picture[]): CallToolResult {
  return {
    structuredContent: data,
    content: [
      { type: "text", text: JSON.stringify(data) },
      ...files.map(({ name, output: { url, contentType, bytes } }) => ({
        type: "resource_link" as const,
        uri: url,
        name,
        mimeType: contentType,
        size: bytes,
      })),
      ...pictures.map(({ mimeType, data: bytes }) => ({ type: "image" as const, mimeType, data: bytes })),
    ],
  };
}

/** The refusal as sentences: what is wrong, in which field, what is left, and when to try again. */
export function refuse(error: EnvelopeError, retryAfter: string | null) {
  const { code, message, details = [], budget, requestId } = error;
  const figures = budget ?? error.balance;
  const fields = details.map(({ path, message: wrong }) => `${path || "arguments"}: ${inTools(wrong)}`);
  const limit = figures?.limitMicros === undefined ? "" : ` of ${dollars(figures.limitMicros)}`;
  // Only the reset time of the service's budget is shown.
  const left =
    figures?.availableMicros === undefined
      ? []
      : [`${dollars(figures.availableMicros)}${limit} is left, and it can cost ${dollars(figures.estimateMicros)}.`];
  const resets = budget?.resetsAt === undefined ? [] : [`The budget resets at ${budget.resetsAt}.`];
  const wait = retryAfter === null ? [] : [`Try again in ${retryAfter} seconds.`];
  const text = [inTools(message), ...fields, ...left, ...resets, ...wait, `(${code}, request ${requestId})`].join("\n");
  return refused(text);
}

/** The text is in `structuredContent` and in `content`, because some clients show their model only one of the two. */
export const refused = (text: string) =>
  ({ isError: true, structuredContent: { error: text }, content: [{ type: "text", text }] }) satisfies CallToolResult;

export const dollars = (micros: unknown): string => `$${(Number(micros) / 1_000_000).toFixed(4)}`;
