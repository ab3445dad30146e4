import { Buffer } from "node:buffer";
import { output } from "../../../shared/contract/predictions.ts";

export type Shown = { name: string; output: ReturnType<typeof output.parse> };

/** The outputs in an answer, each once, in its order. */
export function outputsOf(data: unknown): Shown[] {
  const found = new Map<string, Shown>();
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { step, predictionId, output: file } = value as { step?: string; predictionId?: string; output?: unknown };
    const parsed = output.safeParse(file);
    if (parsed.success) found.set(parsed.data.path, { name: `${step} ${predictionId}`, output: parsed.data });
    else for (const part of Object.values(value)) look(part);
  };
  look(data);
  return [...found.values()];
}

/** In base64. */
export type Picture = { mimeType: string; data: string };

/** More would fill an agent's context; all have a link. */
const MAX_PICTURES = 4;
const MAX_BYTES = 1024 * 1024;
const WIDTH = 768;

type Settings = { supabaseUrl: string; clientUrl: string; fetch: typeof fetch };

/**
 * Reads the first pictures small. Storage resizes them where the project has image transformations; elsewhere a picture is read as it
 * is, if it is small enough. One that cannot be read is left out: its link stays.
 */
export function createReadPictures({ supabaseUrl, clientUrl, fetch }: Settings) {
  const read = async (url: string, authorization: string | null, signal: AbortSignal): Promise<Picture | null> => {
    const headers = { accept: "image/webp,image/*", ...(authorization === null ? {} : { authorization }) };
    const response = await fetch(url, { headers, signal });
    const mimeType = response.headers.get("content-type") ?? "";
    const isPicture = response.ok && mimeType.startsWith("image/");
    if (!isPicture || Number(response.headers.get("content-length") ?? 0) > MAX_BYTES) {
      await response.body?.cancel();
      return null;
    }
    const bytes = Buffer.from(await response.arrayBuffer());
    return bytes.byteLength > MAX_BYTES ? null : { mimeType, data: bytes.toString("base64") };
  };
  return async (files: Shown[], authorization: string, signal: AbortSignal): Promise<Picture[]> => {
    const images = files.filter(({ output }) => output.contentType.startsWith("image/")).slice(0, MAX_PICTURES);
    const found = images.map(async ({ output: { path, url, bytes } }) => {
      const small = `${supabaseUrl}/storage/v1/render/image/authenticated/keyframe-outputs/${path}?width=${WIDTH}&resize=contain`;
      const whole = url.startsWith(clientUrl) ? supabaseUrl + url.slice(clientUrl.length) : url;
      const resized = await read(small, authorization, signal).catch(() => null);
      return resized ?? (bytes > MAX_BYTES ? null : await read(whole, null, signal).catch(() => null));
    });
    return (await Promise.all(found)).filter((picture) => picture !== null);
  };
}
