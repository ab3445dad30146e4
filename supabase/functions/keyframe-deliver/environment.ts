import { z } from "zod";
import {
  allowLocalWebhooks,
  supabaseSecretKeys,
  supabaseUrl,
  webhookSecret,
} from "../../../shared/platform/environment.ts";

/** A variable that undici reads itself. Listed because the local stack permits only the variables of this schema. */
const readByUndici = z.string().optional();

/** The variables of the function. The platform sets the first two. */
export const deliverEnvironment = z.object({
  SUPABASE_URL: supabaseUrl,
  SUPABASE_SECRET_KEYS: supabaseSecretKeys,
  KEYFRAME_KICK_SECRET: webhookSecret,
  KEYFRAME_ALLOW_LOCAL_WEBHOOKS: allowLocalWebhooks,
  JEST_WORKER_ID: readByUndici,
  UNDICI_NO_WASM_SIMD: readByUndici,
});
