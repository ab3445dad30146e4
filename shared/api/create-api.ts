import type { z } from "zod";
import { createBodyReader } from "../http/read-body.ts";
import type { functionEnvironments } from "../platform/environment.ts";
import { createLog, type Log } from "../platform/log.ts";
import { pause } from "../platform/retry.ts";
import { SCHEMA_VERSION } from "../platform/schema-version.ts";
import { createApp } from "./app.ts";
import { createProjectVerifiers } from "./auth/project-key.ts";
import { createSessionVerifier, rememberSessions, type Verifier } from "./auth/verify-session.ts";
import { createDatabase } from "./data/database.ts";
import { createPlatformClient } from "./data/platform-client.ts";
import { createHealthCall } from "./data/health-call.ts";
import { createSharedFilms } from "./data/shared-films.ts";
import { createStorage } from "./data/storage.ts";
import { createUserVerifier } from "./data/verify-key.ts";
import { createRefusals } from "./http/refusals.ts";
import { createUploadTurns } from "./http/upload-turns.ts";
import type { Deps } from "./routes/handler.ts";

/** The limit for the JSON bodies of all signed-in callers together: 128 of the largest size. */
const MAX_JSON_BYTES = 16 * 1024 * 1024;

export type System = Pick<Deps, "now" | "elapsed" | "sleep"> & {
  log: Log;
  fetch: typeof fetch;
  /** The time limit of a call to the platform. */
  timeoutMs?: number | undefined;
};

/** The clock, log and fetch that a function of this name uses. */
export const systemOf = (name: string): System => ({
  now: () => new Date(),
  elapsed: () => performance.now(),
  sleep: pause,
  log: createLog({ function: name }),
  fetch,
});

/** Connects the parts of the API. index.ts serves it, and tests run it with another clock or fetch. */
export function createApi(
  environment: z.infer<typeof functionEnvironments.api>,
  system: System,
): ReturnType<typeof createApp> & { verifyUser: Verifier } {
  const { now, elapsed, sleep, log, fetch, timeoutMs } = system;
  const { SUPABASE_URL: supabaseUrl, SUPABASE_JWKS: jwks, KEYFRAME_JWT_SECRET: sharedKey } = environment;
  const secretKey = environment.SUPABASE_SECRET_KEYS;
  const clientUrl = environment.KEYFRAME_CLIENT_URL ?? supabaseUrl;
  const allowLocal = environment.KEYFRAME_ALLOW_LOCAL_WEBHOOKS;
  const client = createPlatformClient(supabaseUrl, environment.SUPABASE_PUBLISHABLE_KEYS, fetch, timeoutMs);
  const database = createDatabase(client, { elapsed });
  const issuers = [supabaseUrl, clientUrl].map((url) => `${url}/auth/v1`);
  const verifySession = rememberSessions(createSessionVerifier({ jwks, sharedKey, issuers, now }), now);
  const verifyUser = createUserVerifier({ database, verifySession, secretKey, elapsed });
  const storage = createStorage(client, { supabaseUrl, clientUrl, secretKey, now });
  const app = createApp({
    database,
    askHealth: createHealthCall(database),
    storage,
    sharedFilms: createSharedFilms(database, storage, secretKey),
    readBody: createBodyReader({ maxTotalBytes: MAX_JSON_BYTES }),
    acquireUploadTurn: createUploadTurns(),
    refusals: createRefusals(system),
    log,
    verifyUser,
    ...createProjectVerifiers(verifyUser, secretKey),
    // Loaded when an endpoint is registered, because loading it takes a fifth of the function's start.
    refuseUrl: async (url) => (await import("../webhooks/check-url.ts")).checkUrl(url, { allowLocal }),
    platformUrl: supabaseUrl,
    openApi: createDocumentText(`${clientUrl}/functions/v1`),
    now,
    elapsed,
    sleep,
  });
  return { ...app, verifyUser };
}

/**
 * Builds the text of openapi.json at the first request for it (about 30 ms, including loading the code) and keeps it.
 */
export function createDocumentText(functionsUrl: string): (mount: string) => Promise<string> {
  let made: { mount: string; text: Promise<string> } | undefined;
  const make = async (mount: string) => {
    const { openApiDocument } = await import("../contract/openapi/index.ts");
    return JSON.stringify(openApiDocument(functionsUrl + mount, SCHEMA_VERSION));
  };
  return (mount) => {
    if (made?.mount === mount) return made.text;
    const text = make(mount).catch((error) => {
      made = undefined; // the next request tries again
      throw error;
    });
    made = { mount, text };
    return text;
  };
}
