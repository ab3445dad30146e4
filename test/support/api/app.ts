import { inject } from "vitest";
import { createLog } from "../../../shared/platform/log.ts";
import { pause } from "../../../shared/platform/retry.ts";
import { createApi } from "../../../shared/api/create-api.ts";
import { watched } from "../openapi/watch.ts";
import { publicJwk } from "./tokens.ts";

type Options = {
  /** Where the platform is looked for; the sessions are those of the running stack all the same. */
  platformUrl?: string;
  fetcher?: typeof fetch;
  timeoutMs?: number | undefined;
};

export function createApiApp({ platformUrl, fetcher = fetch, timeoutMs }: Options) {
  const { url, publishableKey, secretKey } = inject("stack");
  const log: string[] = [];
  const app = createApi(
    {
      SUPABASE_URL: platformUrl ?? url,
      SUPABASE_PUBLISHABLE_KEYS: publishableKey,
      SUPABASE_SECRET_KEYS: secretKey,
      SUPABASE_JWKS: { keys: [publicJwk()] },
      KEYFRAME_CLIENT_URL: url,
      KEYFRAME_ALLOW_LOCAL_WEBHOOKS: true,
    },
    {
      now: () => new Date(),
      elapsed: () => performance.now(),
      sleep: pause,
      log: createLog({ function: "api" }, (line) => log.push(line)),
      fetch: fetcher,
      timeoutMs,
    },
  );
  return { fetch: async (request: Request) => watched(request, await app.fetch(request)), log };
}
