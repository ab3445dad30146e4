import { z } from "zod";
import type { ApiError } from "../../../../shared/http/errors.ts";
import { readAnswer } from "../../../../shared/platform/data-api.ts";
import type { Caller } from "../auth/verify-session.ts";
import { createBoundedCache } from "../bounded-cache.ts";
import { internal, type UpstreamFailure, unauthorized, unavailable } from "../failures.ts";
import type { PlatformClient } from "./platform-client.ts";

/** Signed URLs cannot be revoked, so they are valid for an hour only. */
const SIGNED_FOR_SECONDS = 3600;
/** How long a returned URL is valid at least: some minutes, even if this machine's clock is ten minutes slow. */
export const MIN_URL_LIFE_MS = 15 * 60_000;
/** About 2 MB: a URL has some 600 characters, its key 150. */
const MAX_KEPT_URLS = 2000;

export type SignedFile = { url: string; expiresAt: string };

/** Accesses files as the caller. Each function is at most one call of the Storage API and throws ApiError. */
export type Storage = {
  /**
   * By path; missing files are left out. A URL is returned again, to the same caller only, while it is valid for MIN_URL_LIFE_MS.
   * The paths must come from rows that the database has just returned to the caller.
   */
  signGenerated(paths: string[], caller: Caller): Promise<Map<string, SignedFile>>;
  /** Keeps an existing file of this name: only we make these names, so it is the same upload. */
  uploadReference(name: string, bytes: Uint8Array, contentType: string, token: string | null): Promise<void>;
};

/** `clientUrl`: where apps reach the platform. */
type Settings = { clientUrl: string; now: () => Date };

const STORAGE = "/storage/v1/object";
const signedFiles = z.array(
  z.object({ path: z.string().nullable(), signedURL: z.string().startsWith("/").nullable() }),
);

export function createStorage(send: PlatformClient, { clientUrl, now }: Settings): Storage {
  const base = `${clientUrl}/storage/v1`;
  const isValid = ({ expiresAt }: SignedFile) => Date.parse(expiresAt) > now().getTime() + MIN_URL_LIFE_MS;
  const cache = createBoundedCache<SignedFile>(MAX_KEPT_URLS, isValid);
  return {
    async signGenerated(paths, { ownerId, token }) {
      const keyOf = (path: string) => `${ownerId} ${path}`;
      const files = new Map(
        paths.flatMap((path) => {
          const kept = cache.get(keyOf(path));
          return kept ? [[path, kept]] : [];
        }),
      );
      const missing = paths.filter((path) => !files.has(path));
      if (missing.length === 0) return files;
      const inAnHour = new Date(now().getTime() + SIGNED_FOR_SECONDS * 1000);
      const body = JSON.stringify({ expiresIn: SIGNED_FOR_SECONDS, paths: missing });
      const headers = { "content-type": "application/json" };
      const answer = await ask(
        "sign",
        send(`${STORAGE}/sign/keyframe-outputs`, token, { method: "POST", headers, body }),
      );
      for (const { path, signedURL } of signedFiles.parse(answer)) {
        if (path === null || signedURL === null) continue;
        const until = signedUntil(signedURL);
        const file = { url: base + encodeURI(signedURL), expiresAt: (until ?? inAnHour).toISOString() };
        files.set(path, file);
        if (until !== null) cache.set(keyOf(path), file);
      }
      return files;
    },
    async uploadReference(name, bytes, contentType, token) {
      const headers = { "content-type": contentType, "cache-control": "max-age=3600", "x-upsert": "false" };
      // Repeatable: a repeated upload finds the file of the first.
      await ask(
        "upload",
        send(`${STORAGE}/projects/${name}`, token, { method: "POST", headers, body: bytes as Uint8Array<ArrayBuffer> }),
        isDuplicate,
      );
    },
  };
}

/** Storage has two statuses: the HTTP status (often 400) and `statusCode`, which is a word in newer versions. */
const refusal = z
  .object({ message: z.string().catch(""), statusCode: z.coerce.string().catch(""), code: z.string().catch("") })
  .catch({ message: "", statusCode: "", code: "" });
type Refusal = z.infer<typeof refusal> & { status: number };

const isDuplicate = ({ status, statusCode, code }: Refusal) =>
  status === 409 || statusCode === "409" || code === "ResourceAlreadyExists" || code === "KeyAlreadyExists";

/** The JSON of a successful answer. Throws ApiError for others, except for a refusal that `isFine`. */
async function ask(
  operation: string,
  sent: Promise<Response>,
  isFine: (refusal: Refusal) => boolean = () => false,
): Promise<unknown> {
  const { status, isOk, body } = await readAnswer(sent);
  if (isOk) return body;
  const refused = { ...refusal.parse(body), status };
  if (!isFine(refused)) throw storageError(operation, refused);
  return null;
}

function storageError(operation: string, { message, status, statusCode, code }: Refusal): ApiError {
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
