import { z } from "zod";
import { ApiError } from "../../../shared/errors.ts";
import { type Image, sniffImage } from "../../../shared/images/sniff-image.ts";
import { answered, answerHeaders } from "./answer-headers.ts";
import type { Handler } from "./call.ts";
import { internal } from "./failures.ts";

const admitted = answered.extend({ file_id: z.uuid() });

const EXTENSION: Record<Image["contentType"], string> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
};

/** POST /api/projects/reference-images → 201 { referenceImagePath }. The kind is what the bytes say, not what the caller does. */
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
  const answer = await database("admit_upload", call.idempotency, call.token, admitted);
  const name = `${answer.file_id}.${EXTENSION[image.contentType]}`;
  const stored = await storage.uploadReference(name, bytes, image.contentType, call.token);
  // With a key the file may be there: stored by the first request or, when several come at once, by one that was quicker.
  const mayBeThere = call.idempotency.idempotency_key !== undefined;
  if (!stored && !mayBeThere) throw internal(new Error("A new file name was taken already."));
  return { data: { referenceImagePath: `projects/${name}` }, headers: answerHeaders(answer) };
};
