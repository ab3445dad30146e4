import { z } from "zod";
import { readEnvironment, webhookSecret } from "../../shared/platform/environment.ts";
import { startSimulator } from "./start-simulator.ts";

// The simulator as a process. It prints `{"ready":true,"port":12345}` when it serves, and ends at SIGTERM or SIGINT.

const schema = z.object({
  SIMULATOR_PORT: z.coerce.number().int(),
  SIMULATOR_TOKEN: z.string(),
  SIMULATOR_WEBHOOK_SECRET: webhookSecret,
  SIMULATOR_START_DELAY_MS: z.coerce.number(),
  SIMULATOR_RUN_DELAY_MS: z.coerce.number(),
  SIMULATOR_IMAGE_WIDTH: z.coerce.number().int().min(16).max(1280),
});

try {
  const env = readEnvironment(schema, (name) => Deno.env.get(name));
  const simulator = await startSimulator({
    port: env.SIMULATOR_PORT,
    token: env.SIMULATOR_TOKEN,
    webhookSecret: env.SIMULATOR_WEBHOOK_SECRET,
    startDelayMs: env.SIMULATOR_START_DELAY_MS,
    runDelayMs: env.SIMULATOR_RUN_DELAY_MS,
    imageWidth: env.SIMULATOR_IMAGE_WIDTH,
  });
  console.log(JSON.stringify({ ready: true, port: simulator.port }));
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(signal, async () => {
      await simulator.stop();
      Deno.exit(0);
    });
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  Deno.exit(1);
}
