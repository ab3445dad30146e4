import { z } from "zod";
import type { ApiError } from "../../../../shared/http/errors.ts";
import { internal, unauthorized, unavailable, type UpstreamFailure } from "../failures.ts";
import type { PlatformClient } from "./platform-client.ts";

/** Signed URLs cannot be revoked, so they are valid for an hour only. */
const SIGNED_FOR_SECONDS = 3600;

export type SignedFile = { url: string; expiresAt: string };

/** Accesses files as the holder of `token`. Each function is one call of the Storage API and throws ApiError. */
export type Storage = {
  /** By path; missing files are left out. An empty list makes no call. */
  signGenerated(paths: string[], token: string | null): Promise<Map<string, SignedFile>>;
  /** Keeps an existing file of this name: only we make these names, so it is the same upload. */
  uploadReference(name: string, bytes: Uint8Array, contentType: string, token: string | null): Promise<void>;
};

/** `clientUrl` replaces `supabaseUrl` in signed URLs, so that apps can reach them. */
type Settings = { supabaseUrl: string; clientUrl: string; now: () => Date };

export function createStorage(client: PlatformClient, { supabaseUrl, clientUrl, now }: Settings): Storage {
  const bucket = (name: string, token: string | null) =>
    client.storage.from(name).setHeader("authorization", `Bearer ${token}`);
  const asClientsReachIt = (url: string) =>
    url.startsWith(supabaseUrl) ? clientUrl + url.slice(supabaseUrl.length) : url;
  return {
    async signGenerated(paths, token) {
      if (paths.length === 0) return new Map();
      const inAnHour = new Date(now().getTime() + SIGNED_FOR_SECONDS * 1000);
      const { data, error } = await bucket("keyframe-outputs", token).createSignedUrls(paths, SIGNED_FOR_SECONDS);
      if (error) throw storageError("sign", error);
      return new Map(
        data.flatMap(({ path, signedUrl, error }) => {
          if (path === null || signedUrl === null || error !== null) return [];
          const expiresAt = (signedUntil(signedUrl) ?? inAnHour).toISOString();
          return [[path, { url: asClientsReachIt(signedUrl), expiresAt }]];
        }),
      );
    },
    async uploadReference(name, bytes, contentType, token) {
      const options = { contentType, cacheControl: "3600", upsert: false };
      const { error } = await bucket("projects", token).upload(name, bytes, options);
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
  // The message shows an expired token. It is not logged, because it can name files.
  const cause: UpstreamFailure = { from: "storage", operation, status, code: statusCode || code };
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
  const payload = /[?&]token=[^.&]+\.([\w-]+)\./.exec(url)?.[1];
  if (payload === undefined) return null;
  try {
    const { exp } = claims.parse(JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/"))));
    return new Date(exp * 1000);
  } catch {
    return null;
  }
}
