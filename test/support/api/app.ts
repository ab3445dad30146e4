import { inject } from "vitest";
import { createLog } from "../../../shared/platform/log.ts";
import { checkUrl } from "../../../shared/webhooks/check-url.ts";
import { bodyClock, createBodyReader } from "../../../shared/http/read-body.ts";
import { createApp } from "../../../supabase/functions/api/app.ts";
import { createDatabase } from "../../../supabase/functions/api/rows/database.ts";
import { createDocumentText } from "../../../supabase/functions/api/http/openapi-text.ts";
import { createPlatformClient } from "../../../supabase/functions/api/rows/platform-client.ts";
import { pause } from "../../../shared/platform/pause.ts";
import { createStorage } from "../../../supabase/functions/api/rows/storage.ts";
import { createUploadTurns } from "../../../supabase/functions/api/http/upload-turns.ts";
import { createManagerVerifier, createProjectVerifier } from "../../../supabase/functions/api/auth/project-key.ts";
import { createSessionVerifier } from "../../../supabase/functions/api/auth/verify-session.ts";
import { publicJwk } from "./tokens.ts";
import { watched } from "../openapi/watch.ts";

type Options = {
  /** Where the platform is looked for; the sessions are those of the running stack all the same. */
  platformUrl?: string;
  fetcher?: typeof fetch;
  timeoutMs?: number;
};

/** The code of the function `api`, wired as its index.ts does, but with a platform or a fetch of the test's choice. */
export function createApiApp({ platformUrl, fetcher = fetch, timeoutMs }: Options) {
  const { url, publishableKey, secretKey } = inject("stack");
  const supabaseUrl = platformUrl ?? url;
  const client = createPlatformClient(supabaseUrl, publishableKey, fetcher, timeoutMs);
  const now = () => new Date();
  const log: string[] = [];
  const verifySession = createSessionVerifier({ jwks: { keys: [publicJwk()] }, issuers: [`${url}/auth/v1`], now });
  const app = createApp({
    database: createDatabase(client),
    storage: createStorage(client, { supabaseUrl, clientUrl: supabaseUrl, now }),
    readBody: createBodyReader({ ...bodyClock, maxTotalBytes: 16 * 1024 * 1024 }),
    takeUploadTurn: createUploadTurns(bodyClock),
    log: createLog({ function: "api" }, (line) => log.push(line)),
    verifySession,
    verifyManager: createManagerVerifier(verifySession, secretKey),
    verifyProject: createProjectVerifier(secretKey),
    refuseUrl: async (address) => checkUrl(address, { allowLocal: true }),
    openApi: createDocumentText(`${supabaseUrl}/functions/v1`),
    now,
    elapsed: () => performance.now(),
    sleep: pause,
  });
  // Each answer is held against openapi.json.
  return { fetch: async (request: Request) => watched(request, await app.fetch(request)), log };
}
