import { z } from "zod";
import { signingKeySchema } from "./signing-key.ts";

const port = z.coerce.number().int().min(0).max(65_535);

const json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: "custom", message: "is not JSON" });
    return z.NEVER;
  }
});

const settingsSchema = z.object({
  GATEWAY_PORT: port,
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ""))
    .optional(),
  PLATFORM_JWK: json.pipe(signingKeySchema),
  LITE_JWT_SECRET: z.string().min(32),
  PUBLISHABLE_KEY: z.string().startsWith("sb_publishable_"),
  SECRET_KEY: z.string().startsWith("sb_secret_"),
  STORAGE_DIR: z.string().min(1),
  /** See storage-faults.ts. */
  STORAGE_FAULT_FILE: z.string().min(1).optional(),
  FUNCTIONS: json.pipe(z.record(z.string(), z.url({ protocol: /^http$/ }))).default({}),
  /** The folder of the built dashboard, and whom its sign-in page lets in at one click. */
  DASHBOARD_DIR: z.string().min(1).optional(),
  DEMO_USER: json.pipe(z.strictObject({ email: z.string(), password: z.string() })).optional(),
  KEYFRAME_EXIT_ON_STDIN_END: z.string().optional(),
});

export type Settings = z.infer<typeof settingsSchema>;

/**
 * The settings of main.ts from the environment. PORT does as well as GATEWAY_PORT.
 *
 * @returns the settings, or one line that names each variable that is missing or wrong (never its value)
 */
export function readSettings(environment: Record<string, string | undefined>): Settings | { fault: string } {
  const { PORT, ...rest } = environment;
  const parsed = settingsSchema.safeParse({ ...rest, GATEWAY_PORT: rest.GATEWAY_PORT ?? PORT });
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  return { fault: `platform: the environment is wrong: ${faults.join("; ")}` };
}
