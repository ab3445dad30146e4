import { z } from "zod";
import {
  allowLocalWebhooks,
  supabaseSecretKeys,
  supabaseUrl,
  webhookSecret,
} from "../../../shared/platform/environment.ts";

/** A variable that a package looks up by itself. Here only because the local stack permits what stands here, and no others. */
const readByUndici = z.string().optional();

/** What the function reads. The first two are given by the platform. */
export const deliverEnvironment = z.object({
  SUPABASE_URL: supabaseUrl,
  SUPABASE_SECRET_KEYS: supabaseSecretKeys,
  KEYFRAME_KICK_SECRET: webhookSecret,
  KEYFRAME_ALLOW_LOCAL_WEBHOOKS: allowLocalWebhooks,
  JEST_WORKER_ID: readByUndici,
  UNDICI_NO_WASM_SIMD: readByUndici,
});
