import { MEDIA_EXTENSIONS } from "../../shared/media/media.ts";
import type { LiveImage } from "./make-image.ts";

/** Writes the image where a person can look at it: a file of its own in the folder for temporary files. Returns its path. */
export async function keepImage({ bytes, type }: LiveImage): Promise<string> {
  const file = await Deno.makeTempFile({ prefix: "keyframe-check-", suffix: `.${MEDIA_EXTENSIONS[type]}` });
  await Deno.writeFile(file, bytes);
  return file;
}
