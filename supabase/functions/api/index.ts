import { readEnvironment } from "../../../shared/platform/environment.ts";
import { createLog } from "../../../shared/platform/log.ts";
import { pause } from "../../../shared/platform/pause.ts";
import { bodyClock, createBodyReader } from "../../../shared/http/read-body.ts";
import { createApp } from "./app.ts";
import { createDatabase } from "./rows/database.ts";
import { apiEnvironment } from "./environment.ts";
import { createDocumentText } from "./http/openapi-text.ts";
import { createPlatformClient } from "./rows/platform-client.ts";
import { createSessionVerifier, rememberSessions } from "./auth/verify-session.ts";
import { createStorage } from "./rows/storage.ts";
import { createUploadTurns } from "./http/upload-turns.ts";
import { createManagerVerifier, createProjectVerifier } from "./auth/project-key.ts";

/** For the JSON bodies of all signed-in callers together: 128 of the largest size. */
const MAX_JSON_BYTES = 16 * 1024 * 1024;

const environment = readEnvironment(apiEnvironment, (name) => Deno.env.get(name));
const supabaseUrl = environment.SUPABASE_URL;
const clientUrl = environment.KEYFRAME_CLIENT_URL ?? supabaseUrl;
const now = () => new Date();
const client = createPlatformClient(supabaseUrl, environment.SUPABASE_PUBLISHABLE_KEYS, fetch);

const verifyToken = createSessionVerifier({
  jwks: environment.SUPABASE_JWKS,
  sharedKey: environment.KEYFRAME_JWT_SECRET,
  issuers: [supabaseUrl, clientUrl].map((url) => `${url}/auth/v1`),
  now,
});
const verifySession = rememberSessions(verifyToken, now);
const allowLocal = environment.KEYFRAME_ALLOW_LOCAL_WEBHOOKS;

const app = createApp({
  database: createDatabase(client),
  storage: createStorage(client, { supabaseUrl, clientUrl, now }),
  readBody: createBodyReader({ ...bodyClock, maxTotalBytes: MAX_JSON_BYTES }),
  takeUploadTurn: createUploadTurns(bodyClock),
  log: createLog({ function: "api" }),
  verifySession,
  verifyManager: createManagerVerifier(verifySession, environment.SUPABASE_SECRET_KEYS),
  verifyProject: createProjectVerifier(environment.SUPABASE_SECRET_KEYS),
  // Loaded when an endpoint is registered, because loading it takes a fifth of the function's start.
  refuseUrl: async (url) => (await import("../../../shared/webhooks/check-url.ts")).checkUrl(url, { allowLocal }),
  openApi: createDocumentText(`${clientUrl}/functions/v1`),
  now,
  elapsed: () => performance.now(),
  sleep: pause,
});

Deno.serve((request) => app.fetch(request));
