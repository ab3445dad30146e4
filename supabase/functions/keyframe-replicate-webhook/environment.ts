import { z } from "zod";
import { supabaseSecretKeys, supabaseUrl, webhookSecret } from "../../../shared/platform/environment.ts";

/** The variables of the function. The platform sets the first two. */
export const webhookEnvironment = z.object({
  SUPABASE_URL: supabaseUrl,
  SUPABASE_SECRET_KEYS: supabaseSecretKeys,
  KEYFRAME_REPLICATE_WEBHOOK_SECRET: webhookSecret,
});
