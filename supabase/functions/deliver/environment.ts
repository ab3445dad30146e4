import { z } from "zod";
import { supabaseSecretKeys, supabaseUrl, webhookSecret } from "../../../shared/environment.ts";
import { allowLocalWebhooks } from "../../../shared/webhooks/allow-local.ts";

/** What the function reads. The first two are given by the platform. */
export const deliverEnvironment = z.object({
  SUPABASE_URL: supabaseUrl,
  SUPABASE_SECRET_KEYS: supabaseSecretKeys,
  KICK_SECRET: webhookSecret,
  KEYFRAME_ALLOW_LOCAL_WEBHOOKS: allowLocalWebhooks,
});
