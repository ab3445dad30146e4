import { readEnvironment } from "../../../shared/platform/environment.ts";
import { createLog } from "../../../shared/platform/log.ts";
import { pause } from "../../../shared/platform/pause.ts";
import { bodyClock, createBodyReader } from "../../../shared/http/read-body.ts";
import { createApp } from "./app.ts";
import { createDatabase } from "./rows/database.ts";
import { apiEnvironment } from "./environment.ts";
import { createLateLines } from "./http/late-lines.ts";
import { createDocumentText } from "./http/openapi-text.ts";
import { createPlatformClient } from "./rows/platform-client.ts";
import { createRecentReads } from "./http/recent-reads.ts";
import { createSessionVerifier, rememberSessions } from "./auth/verify-session.ts";
import { createStorage } from "./rows/storage.ts";
import { createUploadTurns } from "./http/upload-turns.ts";
import { createManagerVerifier, createProjectVerifier } from "./auth/project-key.ts";

/** Of JSON that signed-in callers send: 128 bodies of the largest size. */
const MOST_JSON_BYTES = 16 * 1024 * 1024;

const environment = readEnvironment(apiEnvironment, (name) => Deno.env.get(name));
const supabaseUrl = environment.SUPABASE_URL;
const clientUrl = environment.KEYFRAME_CLIENT_URL ?? supabaseUrl;
const now = () => new Date();
const elapsed = () => performance.now();
const client = createPlatformClient(supabaseUrl, environment.SUPABASE_PUBLISHABLE_KEYS, fetch);

const verifyToken = createSessionVerifier({
  jwks: environment.SUPABASE_JWKS,
  sharedKey: environment.KEYFRAME_JWT_SECRET,
  issuers: [supabaseUrl, clientUrl].map((url) => `${url}/auth/v1`),
  now,
});
const verifySession = rememberSessions(verifyToken, now);
const allowLocal = environment.KEYFRAME_ALLOW_LOCAL_WEBHOOKS;

const lines = createLateLines(console.log);
const base = { function: "api" };
const atOnce = createLog(base, (line) => {
  lines.flush(); // what came before stands before
  console.log(line);
});

const app = createApp({
  database: createDatabase(client),
  recentReads: createRecentReads(elapsed),
  storage: createStorage(client, { supabaseUrl, clientUrl, now }),
  readBody: createBodyReader({ ...bodyClock, mostBytes: MOST_JSON_BYTES }),
  takeUploadTurn: createUploadTurns(bodyClock),
  log: { ...atOnce, info: createLog(base, lines.write).info },
  verifySession,
  verifyManager: createManagerVerifier(verifySession, environment.SUPABASE_SECRET_KEYS),
  verifyProject: createProjectVerifier(environment.SUPABASE_SECRET_KEYS),
  // Only who registers an endpoint needs it, and reading it takes a fifth of the function's start.
  refuseUrl: async (url) => (await import("../../../shared/webhooks/check-url.ts")).checkUrl(url, { allowLocal }),
  openApi: createDocumentText(`${clientUrl}/functions/v1`),
  now,
  elapsed,
  sleep: pause,
});

// No line is lost when the process is told to end: by SIGTERM or, on the hosted platform, by an event; it knows no signals. Nor when it
// ends by an error that nobody caught.
for (const end of ["beforeunload", "unload", "error", "unhandledrejection"]) addEventListener(end, lines.flush);
try {
  Deno.addSignalListener("SIGTERM", () => {
    lines.flush();
    Deno.exit(128 + 15);
  });
} catch {
  // It is the hosted platform.
}

Deno.serve((request) => app.fetch(request));
