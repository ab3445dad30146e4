import { z } from "zod";
import { supabaseSecretKeys, supabaseUrl, webhookSecret } from "../../../shared/platform/environment.ts";

/** What the function reads. The first two are given by the platform. */
export const webhookEnvironment = z.object({
  SUPABASE_URL: supabaseUrl,
  SUPABASE_SECRET_KEYS: supabaseSecretKeys,
  KEYFRAME_REPLICATE_WEBHOOK_SECRET: webhookSecret,
});
