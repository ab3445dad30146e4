import { z } from "zod";
import {
  httpUrl,
  supabaseJwks,
  supabasePublishableKeys,
  supabaseSecretKeys,
  supabaseUrl,
} from "../../../shared/environment.ts";

/** What the function reads. The first four are given by the platform. */
export const apiEnvironment = z.object({
  SUPABASE_URL: supabaseUrl,
  SUPABASE_PUBLISHABLE_KEYS: supabasePublishableKeys,
  SUPABASE_JWKS: supabaseJwks,
  /** Who calls the webhook paths with it manages the service-wide endpoints. */
  SUPABASE_SECRET_KEYS: supabaseSecretKeys,
  /** Set only where sessions are signed with the project's shared HS256 key. */
  KEYFRAME_JWT_SECRET: z.string().min(32, "must have at least 32 characters").optional(),
  /**
   * The address apps use, where it is not SUPABASE_URL: a custom domain, or `supabase start`, whose functions see
   * http://kong:8000. It is a second accepted issuer and the host of signed URLs.
   */
  KEYFRAME_CLIENT_URL: httpUrl.optional(),
  /** Set on the local stack only: webhooks may go to http and to this machine. Hosted it would open the inner network. */
  KEYFRAME_ALLOW_LOCAL_WEBHOOKS: z.literal("1", { error: "must be 1 or absent" }).optional(),
});
