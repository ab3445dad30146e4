import { ApiError } from "../../../../shared/http/errors.ts";
import { type BodyReader, declaredLength, tooLarge } from "../../../../shared/http/read-body.ts";
import { invalidFields } from "../errors.ts";
import { mediaType, refuseCompressed } from "./request-body.ts";

export const IMAGE_LIMIT_BYTES = 10 * 1024 * 1024;
/** The file plus the boundaries and part headers of a form. */
const FORM_LIMIT_BYTES = IMAGE_LIMIT_BYTES + 16 * 1024;

/** The bytes decide which image it is: some programs send image/jpg, or name a file by another one's ending. */
const RAW_TYPE = /^(?:image\/.+|application\/octet-stream)$/;

/** An upload whose headers are valid and whose body has not been read. */
export type UnreadUpload = {
  /** The Content-Length, or the limit. */
  maxBytes: number;
  read(readBody: BodyReader): Promise<Uint8Array>;
};

/**
 * 10 MiB in this time needs 0.9 Mbit/s. A hosted function must answer within 150 s, of which the wait for a turn
 * (upload-turns.ts) may take 20 s and storing 10 s.
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
