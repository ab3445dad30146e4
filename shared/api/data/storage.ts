import { decodeJwt } from "jose/jwt/decode";
import { z } from "zod";
import type { ApiError } from "../../http/errors.ts";
import type { Caller } from "../auth/verify-session.ts";
import { createBoundedCache } from "../bounded-cache.ts";
import { internal, type UpstreamFailure, unauthorized, unavailable } from "../errors.ts";
import { type PlatformClient, setCredential } from "./platform-client.ts";

/** Signed URLs cannot be revoked, so they are valid for an hour only. */
const SIGNED_FOR_SECONDS = 3600;
/** A returned URL is valid for at least this long: some minutes, even if this machine's clock is ten minutes slow. */
export const MIN_URL_LIFE_MS = 15 * 60_000;
/** About 2 MB: a URL has some 600 characters, its key 150. */
const MAX_KEPT_URLS = 2000;
/** Storage refuses a list of more than 1,000 paths. A film of 500 shots has 1,500. */
const MAX_SIGNED_AT_ONCE = 500;

export type SignedFile = { url: string; expiresAt: string };

/** The size in pixels is stored beside the file, because Postgres compares it with the aspect ratio of a video. */
export type ReferenceImage = { bytes: Uint8Array; contentType: string; width: number; height: number };

/** Each function throws ApiError. */
export type Storage = {
  /**
   * Signs files as the caller, and returns the URLs by path; missing files are left out. A URL is reused, for the same caller only, while it
   * is valid for MIN_URL_LIFE_MS. The paths must come from rows that the database has just returned to the caller.
   */
  signGenerated(paths: string[], caller: Caller): Promise<Map<string, SignedFile>>;
  /**
   * Uploads with the secret key, because users may not; the file's metadata names its owner. Keeps an existing file of this name: only we
   * make these names, so it is the same upload.
   */
  uploadReference(name: string, image: ReferenceImage, ownerId: string): Promise<void>;
};

/** `clientUrl` replaces `supabaseUrl` in signed URLs, so that apps can reach them. */
type Settings = { supabaseUrl: string; clientUrl: string; secretKey: string; now: () => Date };

export function createStorage(client: PlatformClient, { supabaseUrl, clientUrl, secretKey, now }: Settings): Storage {
  const bucket = (name: string, token: string | null) => setCredential(client.storage.from(name), token);
  const asClientsReachIt = (url: string) =>
    url.startsWith(supabaseUrl) ? clientUrl + url.slice(supabaseUrl.length) : url;
  const isValid = ({ expiresAt }: SignedFile) => Date.parse(expiresAt) > now().getTime() + MIN_URL_LIFE_MS;
  const cache = createBoundedCache<SignedFile>(MAX_KEPT_URLS, isValid);
  return {
    async signGenerated(paths, { ownerId, token, by }) {
      const keyOf = (path: string) => `${ownerId} ${path}`;
      const files = new Map(
        paths.flatMap((path) => {
          const kept = cache.get(keyOf(path));
          return kept ? [[path, kept]] : [];
        }),
      );
      // The secret key may sign every file, so this checks the owner: the first folder of a name, as in Storage's policy.
      const isOwn = (path: string) => by === undefined || path.startsWith(`${ownerId}/`);
      const missing = paths.filter((path) => !files.has(path) && isOwn(path));
      if (missing.length === 0) return files;
      const inAnHour = new Date(now().getTime() + SIGNED_FOR_SECONDS * 1000);
      const sign = async (from: number) => {
        const some = missing.slice(from, from + MAX_SIGNED_AT_ONCE);
        const { data, error } = await bucket("keyframe-outputs", token).createSignedUrls(some, SIGNED_FOR_SECONDS);
        if (error) throw storageError("sign", error);
        return data;
      };
      const calls = Array.from({ length: Math.ceil(missing.length / MAX_SIGNED_AT_ONCE) }, (_, at) =>
        sign(at * MAX_SIGNED_AT_ONCE),
      );
      for (const { path, signedUrl, error } of (await Promise.all(calls)).flat()) {
        if (path === null || signedUrl === null || error !== null) continue;
        const until = signedUntil(signedUrl);
        const file = { url: asClientsReachIt(signedUrl), expiresAt: (until ?? inAnHour).toISOString() };
        files.set(path, file);
        if (until !== null) cache.set(keyOf(path), file);
      }
      return files;
    },
    async uploadReference(name, { bytes, contentType, width, height }, ownerId) {
      const metadata = { width, height, ownerId };
      const options = { contentType, cacheControl: "3600", upsert: false, metadata };
      const { error } = await bucket("projects", secretKey).upload(name, bytes, options);
      if (error && !isDuplicate(error)) throw storageError("upload", error);
    },
  };
}

/** Storage has two statuses: the HTTP status (often 400) and `statusCode`, which is a word in newer versions. */
type StorageFailure = {
  message: string;
  status?: number | undefined;
  statusCode?: string | undefined;
  code?: string | undefined;
};

const isDuplicate = ({ status, statusCode, code }: StorageFailure) =>
  status === 409 || statusCode === "409" || code === "ResourceAlreadyExists" || code === "KeyAlreadyExists";

function storageError(operation: string, error: StorageFailure): ApiError {
  const { message, status = 0, statusCode = "", code = "" } = error;
  // Only the message shows an expired token. The message is not logged, because it can name files.
  const cause: UpstreamFailure = { from: "storage", operation, status, code: statusCode || code };
  if (/"(iat|nbf)" claim/.test(message)) return unavailable(cause); // Storage's clock is behind Auth's
  if (status === 401 || statusCode === "401" || /\bjwt\b|"exp" claim/i.test(message)) {
    return unauthorized("The session token was refused.", cause);
  }
  return status === 0 || status === 429 || status >= 500 ? unavailable(cause) : internal(cause);
}

const claims = z.object({ exp: z.int().positive() });

/**
 * When a signed URL of Storage expires, by the claim in its token: Storage's clock decides, and this machine's may differ.
 * Null without a readable token. The token is not verified.
 */
export function signedUntil(url: string): Date | null {
  const token = /[?&]token=([^&]+)/.exec(url)?.[1] ?? "";
  try {
    return new Date(claims.parse(decodeJwt(token)).exp * 1000);
  } catch {
    return null;
  }
}
