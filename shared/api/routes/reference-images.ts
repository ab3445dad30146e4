import { z } from "zod";
import { ApiError } from "../../http/errors.ts";
import { type Image, nameOtherImage, sniffImage } from "../../media/image-reader.ts";
import { MEDIA_EXTENSIONS } from "../../media/media.ts";
import { stripMetadata } from "../../media/strip-metadata.ts";
import { hashRequest, type Idempotency } from "../http/read-call.ts";
import { IMAGE_LIMIT_BYTES } from "../http/request-body.ts";
import { answerHeaders } from "../http/respond.ts";
import { answerBase } from "../data/database.ts";
import type { ReferenceImage } from "../data/storage.ts";
import type { Handler } from "./handler.ts";

const admitted = answerBase.extend({ file_id: z.uuid() });

/**
 * POST /api/projects/reference-images → 201 { referenceImagePath }. A token of the caller's rate limit is taken before the body is
 * read. The bytes decide the type, not the caller. Metadata is removed, because the stored image goes to the provider.
 */
export const uploadReferenceImage: Handler<"uploadReferenceImage"> = (call, { database, storage, acquireUploadTurn }) =>
  acquireUploadTurn(call.caller.ownerId, call.body.maxBytes, async (readBody) => {
    const admit = (args: Idempotency) => database.call("admit_upload", args, call.caller, admitted);
    let answer = await admit(call.idempotency);
    const bytes = await call.body.read(readBody);
    const image = recognise(bytes);
    const repeats = call.idempotency.idempotency_key !== undefined;
    const request_hash = repeats ? await hashRequest("POST", "/api/projects/reference-images", bytes) : undefined;
    const stripped = withoutMetadata(bytes, image);
    if (request_hash !== undefined) answer = await admit({ ...call.idempotency, request_hash });
    const name = `${answer.file_id}.${MEDIA_EXTENSIONS[image.contentType]}`;
    // If a file of this name exists, a request with the same key stored it, or the first sending of this one did.
    const ownerId = z.string().parse(call.caller.ownerId); // the contract allows only users, and servers that act for one
    await storage.uploadReference(name, stripped, ownerId);
    return { data: { referenceImagePath: `projects/${name}` }, headers: answerHeaders(answer) };
  });

/** Throws unsupported_media_type. */
function recognise(bytes: Uint8Array): Image {
  const image = sniffImage(bytes);
  if (image !== null) return image;
  const other = nameOtherImage(bytes);
  if (other !== null) throw unsupported(`The image is ${other}. Save it as JPEG, PNG or WebP and send that.`);
  throw unsupported("Not a valid PNG, JPEG or WebP (max 16,384 px per side, 100 MP).");
}

const unsupported = (sentence: string) => new ApiError("unsupported_media_type", sentence);

/** Throws unsupported_media_type and payload_too_large. Changes the given buffer: read the original bytes before. */
function withoutMetadata(bytes: Uint8Array, { contentType }: Image): ReferenceImage {
  const stripped = stripMetadata(bytes, contentType);
  if (stripped && stripped.bytes.length > IMAGE_LIMIT_BYTES)
    throw new ApiError(
      "payload_too_large",
      `With the metadata that marks it as made by AI, the image is larger than ${IMAGE_LIMIT_BYTES} bytes. Send a smaller one.`,
    );
  // The size is read again: without the bytes that decoders skip, it may differ.
  const size = stripped && sniffImage(stripped.bytes);
  if (!stripped || !size) throw unsupported("The image is damaged or ends early. Save it again and send that.");
  if (stripped.isLossless)
    throw unsupported("The JPEG is lossless or hierarchical. Save it as PNG or as a usual JPEG and send that.");
  // Models read the pixels as they lie in the file (decision 37).
  if (stripped.orientation > 1) {
    const turned = `has an Exif orientation (${stripped.orientation}), which models ignore`;
    throw unsupported(`The image ${turned}. Save it upright, without this orientation, and send that.`);
  }
  return { bytes: stripped.bytes, contentType, width: size.width, height: size.height };
}
