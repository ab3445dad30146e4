import { Buffer } from "node:buffer";
import type { Caller } from "../../../shared/api/auth/verify-session.ts";
import { credentialOf } from "../../../shared/api/data/platform-client.ts";
import { output } from "../../../shared/contract/predictions.ts";
import { createBodyReader } from "../../../shared/http/read-body.ts";

export type Shown = { name: string; output: ReturnType<typeof output.parse> };

/** Users write these fields freely: what looks like an output there is not one. */
const WRITTEN_BY_USERS = new Set(["plan", "input"]);

/** The outputs in an answer, each once, in its order. */
export function outputsOf(data: unknown): Shown[] {
  const found = new Map<string, Shown>();
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { step, predictionId, output: file } = value as { step?: string; predictionId?: string; output?: unknown };
    const parsed = output.safeParse(file);
    if (parsed.success) found.set(parsed.data.path, { name: `${step} ${predictionId}`, output: parsed.data });
    else for (const [name, part] of Object.entries(value)) if (!WRITTEN_BY_USERS.has(name)) look(part);
  };
  look(data);
  return [...found.values()];
}

/** <ownerId>/<projectId>/<predictionId>.<extension>. Nothing else is read: a path could lead out of the bucket. */
const OUTPUT_PATH = /^[0-9a-f-]{36}(\/[0-9a-f-]{36}){2}\.[a-z0-9]+$/;

/** In base64. */
export type Picture = { mimeType: string; data: string };

/** More would fill an agent's context; all have a link. */
const MAX_PICTURES = 4;
const MAX_BYTES = 1024 * 1024;
const WIDTH = 768;
const TIMEOUT_MS = 10_000;

/** The space for the pictures of one answer. */
type PictureSpace = {
  /** False: no space is free, or the answer has ended. */
  reserve(bytes: number): boolean;
  release(bytes: number): void;
  /** The answer has been sent, or its receiver has left: pictures may still be read then. */
  end(): void;
};

/** Whose pictures an answer may show, and the space for them. */
export type PictureAccess = { caller: Caller; space: PictureSpace };

type Settings = { supabaseUrl: string; clientUrl: string; fetch: typeof fetch };

/**
 * Reads the first pictures small. Storage resizes them where the project has image transformations; elsewhere a picture is read as it
 * is, if it is small enough. One that cannot be read, or for which there is no space, is left out: its link stays.
 */
export function createReadPictures({ supabaseUrl, clientUrl, fetch }: Settings) {
  const readBody = createBodyReader({ maxTotalBytes: Number.POSITIVE_INFINITY }); // bounded by the space
  const read = async (url: string, credential: object, left: AbortSignal): Promise<Picture | null> => {
    const headers = { accept: "image/webp,image/*", ...credential };
    const signal = AbortSignal.any([left, AbortSignal.timeout(TIMEOUT_MS)]);
    const response = await fetch(url, { headers, signal, redirect: "error" });
    const mimeType = response.headers.get("content-type") ?? "";
    if (!response.ok || !mimeType.startsWith("image/")) {
      await response.body?.cancel();
      return null;
    }
    const bytes = await readBody(response, { maxBytes: MAX_BYTES, maxMs: TIMEOUT_MS });
    return { mimeType, data: Buffer.from(bytes.buffer, 0, bytes.byteLength).toString("base64") };
  };
  return async (files: Shown[], access: PictureAccess | undefined, signal: AbortSignal): Promise<Picture[]> => {
    if (access === undefined) return [];
    const { space, caller } = access;
    // For a user's key the secret key reads, which may read every file: so check the owner's folder, as Storage's policy does.
    const isOwn = ({ path, url }: Shown["output"]) =>
      path.startsWith(`${caller.ownerId}/`) && OUTPUT_PATH.test(path) && url.startsWith(`${clientUrl}/storage/v1/`);
    const images = files
      .filter(({ output }) => output.contentType.startsWith("image/") && isOwn(output))
      .slice(0, MAX_PICTURES);
    const found = images.map(async ({ output: { path, url, bytes } }) => {
      if (!space.reserve(MAX_BYTES)) return null;
      const small = `${supabaseUrl}/storage/v1/render/image/authenticated/keyframe-outputs/${path}?width=${WIDTH}&resize=contain`;
      const whole = supabaseUrl + url.slice(clientUrl.length);
      const resized = await read(small, credentialOf(caller.token), signal).catch(() => null);
      const picture = resized ?? (bytes > MAX_BYTES ? null : await read(whole, {}, signal).catch(() => null));
      space.release(MAX_BYTES - Math.min(MAX_BYTES, picture?.data.length ?? 0));
      return picture;
    });
    return (await Promise.all(found)).filter((picture) => picture !== null);
  };
}

/**
 * The pictures of all answers that are being made or sent. Each is in memory up to five times: as read, in base64, and in the text of
 * the answer. So they take at most 80 MiB of the 256 MB of a hosted function.
 */
const MAX_BYTES_IN_ALL = 16 * 1024 * 1024;
/** Two answers with four pictures of the largest size. */
const MAX_BYTES_PER_OWNER = 8 * 1024 * 1024;

/** Counts the size of the pictures of each answer. */
export function createPictureSpaces() {
  const reserved = new Map<string, number>();
  let total = 0;
  return (ownerId: string): PictureSpace => {
    let own = 0;
    let hasEnded = false;
    const change = (bytes: number) => {
      own += bytes;
      total += bytes;
      const owners = (reserved.get(ownerId) ?? 0) + bytes;
      if (owners > 0) reserved.set(ownerId, owners);
      else reserved.delete(ownerId);
    };
    return {
      reserve(bytes) {
        if (hasEnded) return false;
        if (total + bytes > MAX_BYTES_IN_ALL || (reserved.get(ownerId) ?? 0) + bytes > MAX_BYTES_PER_OWNER)
          return false;
        change(bytes);
        return true;
      },
      release(bytes) {
        if (!hasEnded) change(-bytes);
      },
      end() {
        hasEnded = true;
        change(-own);
      },
    };
  };
}
