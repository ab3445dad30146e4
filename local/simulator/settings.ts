import { z } from "zod";
import type { SimulatorOptions } from "./start-simulator.ts";

const delay = z.coerce.number().min(0).max(3_600_000);
const list = z
  .string()
  .transform((text) => (text.trim() === "" ? [] : text.split(",").map(Number)))
  .pipe(z.array(z.number().min(0)));

const schema = z.object({
  SIMULATOR_PORT: z.coerce.number().int().min(0).max(65_535),
  SIMULATOR_TOKEN: z.string().min(1),
  SIMULATOR_WEBHOOK_SECRET: z.string().regex(/^whsec_[A-Za-z0-9+/]+=*$/),
  SIMULATOR_START_DELAY_MS: delay.default(0),
  SIMULATOR_RUN_DELAY_MS: delay.default(0),
  SIMULATOR_CALLBACK_RETRY_MS: list.optional(),
  SIMULATOR_OUTPUT_LIFETIME_MS: z.coerce.number().min(1).optional(),
  SIMULATOR_IMAGE_WIDTH: z.coerce
    .number()
    .pipe(z.literal([640, 1280]))
    .optional(),
  SIMULATOR_PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
});

/** Reads the simulator's settings from the environment; throws an Error of one line that names what is missing or wrong. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): SimulatorOptions {
  const parsed = schema.safeParse(environment);
  if (!parsed.success) {
    const wrong = parsed.error.issues.map(({ path, message }) => `${path.join(".")} (${message})`);
    throw new Error(`the simulator's environment is missing or wrong: ${wrong.join(", ")}`);
  }
  const env = parsed.data;
  return {
    port: env.SIMULATOR_PORT,
    token: env.SIMULATOR_TOKEN,
    webhookSecret: env.SIMULATOR_WEBHOOK_SECRET,
    startDelayMs: env.SIMULATOR_START_DELAY_MS,
    runDelayMs: env.SIMULATOR_RUN_DELAY_MS,
    ...(env.SIMULATOR_CALLBACK_RETRY_MS ? { callbackRetryMs: env.SIMULATOR_CALLBACK_RETRY_MS } : {}),
    ...(env.SIMULATOR_OUTPUT_LIFETIME_MS ? { outputLifetimeMs: env.SIMULATOR_OUTPUT_LIFETIME_MS } : {}),
    ...(env.SIMULATOR_IMAGE_WIDTH ? { imageWidth: env.SIMULATOR_IMAGE_WIDTH } : {}),
    ...(env.SIMULATOR_PUBLIC_URL ? { publicUrl: env.SIMULATOR_PUBLIC_URL } : {}),
  };
}
