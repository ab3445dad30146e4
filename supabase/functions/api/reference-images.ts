import { z } from "zod";
import { ApiError } from "../../../shared/errors.ts";
import { type Image, sniffImage } from "../../../shared/images/sniff-image.ts";
import { stripMetadata } from "../../../shared/images/strip-metadata.ts";
import { answered, answerHeaders } from "./answer-headers.ts";
import type { Handler } from "./call.ts";

const admitted = answered.extend({ file_id: z.uuid() });

const EXTENSION: Record<Image["contentType"], string> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
};

/**
 * POST /api/projects/reference-images → 201 { referenceImagePath }. The kind is what the bytes say, not what the caller does. What
 * is stored goes to the provider, so it holds no location.
 */
export const uploadReferenceImage: Handler<"uploadReferenceImage"> = async (call, { database, storage }) => {
  const { bytes, declared } = call.body;
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
  const stripped = stripMetadata(bytes, image.contentType);
  if (stripped === null) {
    throw new ApiError("unsupported_media_type", "The image is damaged or ends early. Save it again and send that.");
  }
  const answer = await database("admit_upload", call.idempotency, call.token, admitted);
  const name = `${answer.file_id}.${EXTENSION[image.contentType]}`;
  // It may be there: the name is ours alone, so it was stored by a request with the same key, or by the first sending of this one.
  await storage.uploadReference(name, stripped, image.contentType, call.token);
  return { data: { referenceImagePath: `projects/${name}` }, headers: answerHeaders(answer) };
};
