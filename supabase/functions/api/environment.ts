import { z } from "zod";
import {
  allowLocalWebhooks,
  httpUrl,
  supabaseJwks,
  supabasePublishableKeys,
  supabaseSecretKeys,
  supabaseUrl,
} from "../../../shared/platform/environment.ts";

/** The variables of the function. The platform sets the first four. */
export const apiEnvironment = z.object({
  SUPABASE_URL: supabaseUrl,
  SUPABASE_PUBLISHABLE_KEYS: supabasePublishableKeys,
  SUPABASE_JWKS: supabaseJwks,
  /** A caller of the webhook paths with this key manages the service-wide endpoints. */
  SUPABASE_SECRET_KEYS: supabaseSecretKeys,
  /** Set only where sessions are signed with the project's shared HS256 key. */
  KEYFRAME_JWT_SECRET: z.string().min(32, "must have at least 32 characters").optional(),
  /**
   * The address apps use, where it is not SUPABASE_URL: a custom domain, or `supabase start`, whose functions see
   * http://kong:8000. It is a second accepted issuer and the host of signed URLs.
   */
  KEYFRAME_CLIENT_URL: httpUrl.optional(),
  KEYFRAME_ALLOW_LOCAL_WEBHOOKS: allowLocalWebhooks,
});
