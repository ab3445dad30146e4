import type { z } from "zod";
import { ApiError } from "../../../../shared/http/errors.ts";
import type { BodyLimits, BodyReader } from "../../../../shared/http/read-body.ts";
import { invalidRequest, issueSentence } from "../errors.ts";

/** Valid bodies are far smaller: the longest text has 4000 characters. */
const JSON_LIMITS: BodyLimits = { maxBytes: 64 * 1024, maxMs: 30_000 };

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The media type of the body in lower case, without parameters; "" when there is none. */
export const mediaType = (contentType: string | null): string => contentType?.split(";")[0]?.trim().toLowerCase() ?? "";

type JsonSettings = {
  read: BodyReader;
  /** An empty body, whatever its Content-Type, counts as {}. */
  mayBeEmpty: boolean;
};

/**
 * Reads and parses a JSON body (RFC 8259: UTF-8). Throws unsupported_media_type, invalid_json, invalid_request with each invalid
 * field, and the reader's errors.
 */
export async function readJson<Output>(
  request: Request,
  schema: z.ZodType<Output>,
  { read, mayBeEmpty }: JsonSettings,
): Promise<Output> {
  if (!mayBeEmpty) refuseOtherTypes(request.headers);
  const bytes = await read(request, JSON_LIMITS);
  if (mayBeEmpty) {
    if (bytes.length === 0) return schema.parse({});
    refuseOtherTypes(request.headers);
  }
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch {
    // The parser's message quotes the body, which can contain a prompt.
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

function refuseOtherTypes(headers: Headers): void {
  const contentType = headers.get("content-type");
  const charset = /;\s*charset="?([^";\s]+)/i.exec(contentType ?? "")?.[1] ?? "utf-8";
  if (mediaType(contentType) !== "application/json" || charset.toLowerCase() !== "utf-8") {
    throw new ApiError(
      "unsupported_media_type",
      "The body must be JSON in UTF-8. Send it with Content-Type: application/json.",
    );
  }
  refuseCompressed(headers);
}

/** Throws unsupported_media_type. */
export function refuseCompressed(headers: Headers): void {
  if ((headers.get("content-encoding") ?? "identity") !== "identity") {
    throw new ApiError("unsupported_media_type", "The body must not be compressed. Send it without Content-Encoding.");
  }
}
