import type { z } from "zod";
import { ApiError } from "../../../shared/errors.ts";
import { invalidRequest, issueSentence } from "./invalid-request.ts";

/** Bodies of JSON stay far below this: the longest text has 4000 characters. */
export const JSON_LIMIT_BYTES = 64 * 1024;

/**
 * Reads a body of at most `limit` bytes. What counts is what arrives: a Content-Length can lie or be missing.
 * Throws payload_too_large.
 */
export async function readBytes(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(request.headers.get("content-length") ?? 0) > limit) throw tooLarge(limit);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  // Read by hand: the stream's own iterator costs twice as much as reading a small body does.
  const reader = request.body?.getReader();
  try {
    for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
      length += read.value.byteLength;
      if (length > limit) throw tooLarge(limit);
      chunks.push(read.value);
    }
  } catch (error) {
    await reader?.cancel().catch(() => undefined); // one that has broken off says so again
    if (error instanceof ApiError) throw error;
    throw new ApiError("invalid_request", "The body broke off. Send the request again.");
  }
  const [only] = chunks;
  if (only !== undefined && chunks.length === 1) return only;
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}

const tooLarge = (limit: number): ApiError =>
  new ApiError("payload_too_large", `The body is larger than the ${limit} bytes this path takes. Send a smaller one.`);

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The media type of the body in lower case, without parameters; "" when there is none. */
export const mediaType = (contentType: string | null): string => contentType?.split(";")[0]?.trim().toLowerCase() ?? "";

/**
 * Reads and parses a body of JSON (RFC 8259: UTF-8).
 * Throws unsupported_media_type, payload_too_large, invalid_json, or invalid_request naming each field that does not fit.
 */
export async function readJson<Output>(request: Request, schema: z.ZodType<Output>): Promise<Output> {
  const contentType = request.headers.get("content-type");
  const charset = /;\s*charset="?([^";\s]+)/i.exec(contentType ?? "")?.[1] ?? "utf-8";
  if (mediaType(contentType) !== "application/json" || charset.toLowerCase() !== "utf-8") {
    throw new ApiError(
      "unsupported_media_type",
      "The body must be JSON in UTF-8. Send it with Content-Type: application/json.",
    );
  }
  if ((request.headers.get("content-encoding") ?? "identity") !== "identity") {
    throw new ApiError("unsupported_media_type", "The body must not be compressed. Send it without Content-Encoding.");
  }
  const bytes = await readBytes(request, JSON_LIMIT_BYTES);
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch {
    // The parser's own words quote the body, which may hold a prompt.
    throw new ApiError(
      "invalid_json",
      bytes.length === 0
        ? "The body is empty. Send a JSON object."
        : "The body is not valid JSON. Correct it and send it again.",
    );
  }
  const parsed = schema.safeParse(value, { error: issueSentence });
  if (!parsed.success) throw invalidRequest(parsed.error);
  return parsed.data;
}
