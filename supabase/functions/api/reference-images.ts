import { z } from "zod";
import { ApiError } from "../../../shared/errors.ts";
import { type Image, sniffImage } from "../../../shared/images/sniff-image.ts";
import { madeHeaders, madeOnce } from "./answer-headers.ts";
import type { Needs, UserCall } from "./call.ts";
import { internal } from "./failures.ts";
import { readIdempotency } from "./idempotency.ts";
import { readUpload } from "./read-upload.ts";
import { noQuery, readQuery } from "./request-query.ts";
import type { Answer } from "./respond.ts";

const admitted = madeOnce.extend({ file_id: z.uuid() });

const EXTENSION: Record<Image["contentType"], string> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
};

/** POST /api/projects/reference-images → 201 { referenceImagePath }. The kind is what the bytes say, not what the caller does. */
export async function uploadReferenceImage(call: UserCall, { database, storage }: Needs): Promise<Answer> {
  const { request, url, session } = call;
  readQuery(url, noQuery);
  const { bytes, declared } = await readUpload(request);
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
  const args = await readIdempotency(request, url.pathname, bytes);
  const answer = await database("admit_upload", args, session.token, admitted);
  const name = `${answer.file_id}.${EXTENSION[image.contentType]}`;
  const stored = await storage.uploadReference(name, bytes, image.contentType, session.token);
  // A repeated request finds its file there, unless the first one was cut off before it was stored.
  if (!stored && !answer.replayed) throw internal(new Error("A new file name was taken already."));
  return { status: 201, data: { referenceImagePath: `projects/${name}` }, headers: madeHeaders(answer) };
}
