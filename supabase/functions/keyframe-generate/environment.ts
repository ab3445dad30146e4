import { z } from "zod";
import { httpUrl, supabaseSecretKeys, supabaseUrl, webhookSecret } from "../../../shared/platform/environment.ts";
import { parseOutputHosts } from "./files/open-output.ts";

/** Parsed to a function that tests a URL. */
const outputHosts = z.string().transform((list, context) => {
  try {
    return parseOutputHosts(list);
  } catch (error) {
    context.addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error) });
    return z.NEVER;
  }
});

/** The variables of the function. The platform sets the first two. */
export const generateEnvironment = z.object({
  SUPABASE_URL: supabaseUrl,
  SUPABASE_SECRET_KEYS: supabaseSecretKeys,
  KEYFRAME_KICK_SECRET: webhookSecret,
  KEYFRAME_REPLICATE_API_TOKEN: z.string().min(1),
  KEYFRAME_REPLICATE_API_BASE_URL: httpUrl.default("https://api.replicate.com/v1"),
  KEYFRAME_REPLICATE_OUTPUT_HOSTS: outputHosts.prefault("replicate.delivery"),
  /** Where the provider reaches the platform. Default: SUPABASE_URL if it is https, otherwise polling and the provider's Files API. */
  KEYFRAME_PUBLIC_URL: httpUrl.optional(),
});
