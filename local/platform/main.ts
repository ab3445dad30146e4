import { z } from "zod";
import { readEnvironment } from "../../shared/platform/environment.ts";
import { jsonText } from "../../shared/platform/json-text.ts";
import { createPlatform } from "./create-platform.ts";
import { log } from "./log.ts";
import { signingKeySchema } from "./session-tokens.ts";

const settingsSchema = z.object({
  GATEWAY_PORT: z.coerce.number().int(),
  DATABASE_URL: z.string(),
  PUBLIC_URL: z.string(),
  PLATFORM_JWK: jsonText.pipe(signingKeySchema),
  LITE_JWT_SECRET: z.string(),
  PUBLISHABLE_KEY: z.string(),
  SECRET_KEY: z.string(),
  STORAGE_DIR: z.string(),
  STORAGE_FAULT_FILE: z.string().optional(),
  FUNCTIONS: jsonText.pipe(z.record(z.string(), z.string())),
  /** The built dashboard, and the user of its button "Continue as demo user". */
  DASHBOARD_DIR: z.string(),
  DEMO_USER: jsonText.pipe(z.object({ email: z.string(), password: z.string() })),
});

const settings = readEnvironment(settingsSchema, (name) => Deno.env.get(name));

// lite writes text to the console; stdout must have JSON lines only.
for (const level of ["error", "warn", "info", "debug"] as const) {
  console[level] = (...parts: unknown[]) =>
    log(level === "error" ? "warn" : "info", parts.map((part) => Deno.inspect(part, { depth: 2 })).join(" "));
}

// postgres.js leaves rejected promises when Postgres ends. Their requests are answered elsewhere, so the process continues.
globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  log("warn", "unhandled rejection", { error: String(event.reason) });
});

const platform = await createPlatform({
  databaseUrl: settings.DATABASE_URL,
  publicUrl: settings.PUBLIC_URL,
  signingKey: settings.PLATFORM_JWK,
  liteSecret: settings.LITE_JWT_SECRET,
  publishableKey: settings.PUBLISHABLE_KEY,
  secretKey: settings.SECRET_KEY,
  storageFolder: settings.STORAGE_DIR,
  functions: settings.FUNCTIONS,
  storageFaultFile: settings.STORAGE_FAULT_FILE,
  dashboard: { folder: settings.DASHBOARD_DIR, demoUser: settings.DEMO_USER },
});
const listening = { hostname: "127.0.0.1", port: settings.GATEWAY_PORT, onListen: () => undefined };
const server = Deno.serve(listening, (request) => platform.fetch(request));

const stop = async () => {
  // Running requests get 3 s to end; an endless stream must not delay the exit.
  setTimeout(() => Deno.exit(0), 3_000);
  await server.shutdown();
  await platform.close();
  Deno.exit(0);
};
for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.addSignalListener(signal, stop);

console.log(JSON.stringify({ ready: true, port: settings.GATEWAY_PORT }));
