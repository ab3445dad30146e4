import type { z } from "zod";
import { ApiError } from "../../http/errors.ts";
import { type BodyLimits, type BodyReader, declaredLength, tooLarge } from "../../http/read-body.ts";
import { invalidFields, invalidRequest, issueSentence } from "../errors.ts";

/** Valid bodies are far smaller: the longest text has 4000 characters. */
const JSON_LIMITS: BodyLimits = { maxBytes: 64 * 1024, maxMs: 30_000 };

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The media type of the body in lower case, without parameters; "" when there is none. */
const mediaType = (contentType: string | null): string => contentType?.split(";")[0]?.trim().toLowerCase() ?? "";

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
  if (!parsed.success) throw invalidRequest(parsed.error, schema);
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
function refuseCompressed(headers: Headers): void {
  if ((headers.get("content-encoding") ?? "identity") !== "identity") {
    throw new ApiError("unsupported_media_type", "The body must not be compressed. Send it without Content-Encoding.");
  }
}

export const IMAGE_LIMIT_BYTES = 10 * 1024 * 1024;
/** The limit of a form: the file, its boundaries and part headers. */
const FORM_LIMIT_BYTES = IMAGE_LIMIT_BYTES + 16 * 1024;

/** Any image type is accepted, because the bytes decide: some programs send image/jpg, or use a wrong extension. */
const RAW_TYPE = /^(?:image\/.+|application\/octet-stream)$/;

/** An upload whose headers are valid and whose body has not been read. */
export type UnreadUpload = {
  /** The Content-Length, or the limit. */
  maxBytes: number;
  read(readBody: BodyReader): Promise<Uint8Array>;
};

/**
 * 10 MiB in this time needs 0.9 Mbit/s. A hosted function must answer within 150 s. Of these, waiting (upload-turns.ts) may take 20 s and
 * storing 12 s.
 */
const MAX_UPLOAD_MS = 100_000;

/** Accepts a file of at most 10 MiB, as the body or as the only field of a form. Throws when the headers rule it out. */
export function openUpload(request: Request): UnreadUpload {
  const contentType = request.headers.get("content-type");
  const declared = mediaType(contentType);
  const isForm = declared === "multipart/form-data";
  if (!isForm && !RAW_TYPE.test(declared)) {
    const types = "image/png, image/jpeg, image/webp or multipart/form-data";
    throw new ApiError("unsupported_media_type", `Send the image as ${types}.`);
  }
  refuseCompressed(request.headers);
  const limit = isForm ? FORM_LIMIT_BYTES : IMAGE_LIMIT_BYTES;
  const length = declaredLength(request.headers);
  if (length > limit) throw tooLarge(limit);
  const maxBytes = length >= 0 ? length : limit; // NaN is not >= 0
  return {
    maxBytes,
    async read(readBody) {
      const bytes = await readBody(request, { maxBytes, maxMs: MAX_UPLOAD_MS });
      if (isForm) return await readForm(bytes, contentType ?? "");
      if (bytes.length === 0) throw invalidFields([{ path: "", message: "The body is empty. Send an image." }]);
      return bytes;
    },
  };
}

async function readForm(body: Uint8Array<ArrayBuffer>, contentType: string): Promise<Uint8Array> {
  const form = await new Response(body, { headers: { "content-type": contentType } }).formData().catch(() => {
    throw invalidFields([{ path: "", message: "The body is not a valid multipart form." }]);
  });
  const [[name, file] = ["", ""], ...others] = [...form];
  if (!(file instanceof File) || others.length > 0) {
    throw invalidFields([
      { path: others[0]?.[0] ?? name, message: "The form must have exactly one field, the image file." },
    ]);
  }
  if (file.size === 0) throw invalidFields([{ path: name, message: "The file is empty." }]);
  if (file.size > IMAGE_LIMIT_BYTES) {
    throw new ApiError("payload_too_large", `The image is larger than ${IMAGE_LIMIT_BYTES} bytes. Send a smaller one.`);
  }
  return new Uint8Array(await file.arrayBuffer());
}
