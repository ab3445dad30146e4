import type { z } from "zod";
import { bodyClock, createBodyReader } from "../http/read-body.ts";
import type { functionEnvironments } from "../platform/environment.ts";
import type { Log } from "../platform/log.ts";
import { SCHEMA_VERSION } from "../platform/schema-version.ts";
import { createApp } from "./app.ts";
import { createManagerVerifier, createProjectVerifier, createServerVerifier } from "./auth/project-key.ts";
import { createSessionVerifier, rememberSessions, type UserVerifier } from "./auth/verify-session.ts";
import { createRefusals } from "./http/refusals.ts";
import { createUploadTurns } from "./http/upload-turns.ts";
import type { Deps } from "./routes/handler.ts";
import { createDatabase, createPlatformClient } from "./data/database.ts";
import { createHealthCall } from "./data/health-call.ts";
import { createSharedFilms } from "./data/shared-films.ts";
import { createStorage } from "./data/storage.ts";
import { createUserVerifier } from "./data/verify-key.ts";

/** The limit for the JSON bodies of all signed-in callers together: 128 of the largest size. */
const MAX_JSON_BYTES = 16 * 1024 * 1024;

export type System = Pick<Deps, "now" | "elapsed" | "sleep"> & {
  log: Log;
  fetch: typeof fetch;
  /** The time limit of a call to the platform. */
  timeoutMs?: number | undefined;
};

/** Verifies session tokens, and those of OAuth clients, each once. */
function createVerifier(
  environment: z.infer<typeof functionEnvironments.api>,
  now: () => Date,
): ReturnType<typeof createSessionVerifier> {
  const { SUPABASE_URL, KEYFRAME_CLIENT_URL, SUPABASE_JWKS: jwks, KEYFRAME_JWT_SECRET: sharedKey } = environment;
  const issuers = [SUPABASE_URL, KEYFRAME_CLIENT_URL ?? SUPABASE_URL].map((url) => `${url}/auth/v1`);
  return rememberSessions(createSessionVerifier({ jwks, sharedKey, issuers, now }), now);
}

/** The API, wired: what index.ts serves, and what tests run with another clock or fetch. */
export function createApi(
  environment: z.infer<typeof functionEnvironments.api>,
  system: System,
): ReturnType<typeof createApp> & { verifyUser: UserVerifier } {
  const { now, elapsed, sleep, log, fetch, timeoutMs } = system;
  const supabaseUrl = environment.SUPABASE_URL;
  const secretKey = environment.SUPABASE_SECRET_KEYS;
  const clientUrl = environment.KEYFRAME_CLIENT_URL ?? supabaseUrl;
  const allowLocal = environment.KEYFRAME_ALLOW_LOCAL_WEBHOOKS;
  const client = createPlatformClient(supabaseUrl, environment.SUPABASE_PUBLISHABLE_KEYS, fetch, timeoutMs);
  const database = createDatabase(client, { elapsed });
  const verifySession = createVerifier(environment, now);
  const verifyUser = createUserVerifier({ database, verifySession, secretKey, elapsed });
  const storage = createStorage(client, { supabaseUrl, clientUrl, secretKey, now });
  const app = createApp({
    database,
    askHealth: createHealthCall(database),
    storage,
    sharedFilms: createSharedFilms(database, storage, secretKey),
    readBody: createBodyReader({ ...bodyClock, maxTotalBytes: MAX_JSON_BYTES }),
    acquireUploadTurn: createUploadTurns(bodyClock),
    refusals: createRefusals(system),
    log,
    verifyUser,
    verifyManager: createManagerVerifier(verifyUser, secretKey),
    verifyProject: createProjectVerifier(secretKey),
    verifyServer: createServerVerifier(secretKey),
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
