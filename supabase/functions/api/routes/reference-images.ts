import { z } from "zod";
import { ApiError } from "../../../../shared/http/errors.ts";
import { type Image, sniffImage } from "../../../../shared/media/sniff-image.ts";
import { stripMetadata } from "../../../../shared/media/strip-metadata.ts";
import { answered, answerHeaders } from "../http/answer-headers.ts";
import type { Handler } from "../call.ts";
import { hashRequest, type Idempotency } from "../http/idempotency.ts";

const admitted = answered.extend({ file_id: z.uuid() });

const EXTENSION: Record<Image["contentType"], string> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
};

/**
 * POST /api/projects/reference-images → 201 { referenceImagePath }. The caller's token is taken before anything of the body is
 * read. The kind is what the bytes say, not what the caller does. What is stored goes to the provider, so it holds no location.
 */
export const uploadReferenceImage: Handler<"uploadReferenceImage"> = (call, { database, storage, takeUploadTurn }) =>
  takeUploadTurn(call.ownerId, call.body.maxBytes, async (readBody) => {
    const admit = (args: Idempotency) => database("admit_upload", args, call.token, admitted);
    let answer = await admit(call.idempotency);
    const { bytes, declared } = await call.body.read(readBody);
    const image = recognise(bytes, declared);
    const repeats = call.idempotency.idempotency_key !== undefined;
    const request_hash = repeats ? await hashRequest("POST", "/api/projects/reference-images", bytes) : undefined;
    const stripped = withoutMetadata(bytes, image);
    if (request_hash !== undefined) answer = await admit({ ...call.idempotency, request_hash });
    const name = `${answer.file_id}.${EXTENSION[image.contentType]}`;
    // It may be there: the name is ours alone, so it was stored by a request with the same key, or by the first sending of this one.
    await storage.uploadReference(name, stripped, image.contentType, call.token);
    return { data: { referenceImagePath: `projects/${name}` }, headers: answerHeaders(answer) };
  });

/** Throws unsupported_media_type. */
function recognise(bytes: Uint8Array, declared: string): Image {
  const image = sniffImage(bytes);
  if (image === null) {
    throw new ApiError(
      "unsupported_media_type",
      "This is no PNG, JPEG or WebP image of at most 16384 × 16384 and 100 megapixels.",
    );
  }
  if (declared !== image.contentType && declared !== "application/octet-stream") {
    throw new ApiError("unsupported_media_type", `The image is ${image.contentType}. Send it with that Content-Type.`);
  }
  return image;
}

/** Throws unsupported_media_type. Works in the given buffer, so whatever needs the bytes as they came has read them before. */
function withoutMetadata(bytes: Uint8Array, { contentType }: Image): Uint8Array {
  const stripped = stripMetadata(bytes, contentType);
  if (stripped !== null) return stripped;
  throw new ApiError("unsupported_media_type", "The image is damaged or ends early. Save it again and send that.");
}
