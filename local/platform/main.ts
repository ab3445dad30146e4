import postgres from "postgres";
import { z } from "zod";
import { httpUrl, jsonText, readEnvironment } from "../../shared/platform/environment.ts";
import { bootstrapPlatform } from "./bootstrap-platform.ts";
import { createPlatform } from "./create-platform.ts";
import { log } from "./log.ts";
import { signingKeySchema } from "./session-tokens.ts";

const portNumber = z.coerce.number().int().min(0).max(65_535);

const settingsSchema = z.object({
  GATEWAY_PORT: portNumber,
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  PUBLIC_URL: httpUrl.optional(),
  PLATFORM_JWK: jsonText.pipe(signingKeySchema),
  LITE_JWT_SECRET: z.string().min(32),
  PUBLISHABLE_KEY: z.string().startsWith("sb_publishable_"),
  SECRET_KEY: z.string().startsWith("sb_secret_"),
  STORAGE_DIR: z.string().min(1),
  STORAGE_FAULT_FILE: z.string().min(1).optional(),
  FUNCTIONS: jsonText.pipe(z.record(z.string(), z.url({ protocol: /^http$/ }))).default({}),
  /** The built dashboard, and the user of its button "Continue as demo user". */
  DASHBOARD_DIR: z.string().min(1).optional(),
  DEMO_USER: jsonText.pipe(z.strictObject({ email: z.string(), password: z.string() })).optional(),
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

try {
  const sql = postgres(settings.DATABASE_URL, { max: 1, connect_timeout: 10, onnotice: () => undefined });
  await bootstrapPlatform(sql).finally(() => sql.end({ timeout: 1 }));
} catch (error) {
  fail(`platform: the database cannot be prepared: ${error instanceof Error ? error.message : String(error)}`);
}

let handle = (_request: Request): Promise<Response> => Promise.resolve(new Response(null, { status: 503 }));
const server = listen(settings.GATEWAY_PORT);
const port = server.addr.port;
const platform = await createPlatform({
  databaseUrl: settings.DATABASE_URL,
  publicUrl: settings.PUBLIC_URL ?? `http://127.0.0.1:${port}`,
  signingKey: settings.PLATFORM_JWK,
  liteSecret: settings.LITE_JWT_SECRET,
  publishableKey: settings.PUBLISHABLE_KEY,
  secretKey: settings.SECRET_KEY,
  storageFolder: settings.STORAGE_DIR,
  functions: settings.FUNCTIONS,
  ...(settings.STORAGE_FAULT_FILE ? { storageFaultFile: settings.STORAGE_FAULT_FILE } : {}),
  ...(settings.DASHBOARD_DIR && settings.DEMO_USER
    ? { dashboard: { folder: settings.DASHBOARD_DIR, demoUser: settings.DEMO_USER } }
    : {}),
});
handle = platform.fetch;

let stopping = false;
async function stop(): Promise<void> {
  if (stopping) return;
  stopping = true;
  // Running requests get 3 s to end; an endless stream must not delay the exit.
  setTimeout(() => Deno.exit(0), 3_000);
  await server.shutdown();
  await platform.close();
  Deno.exit(0);
}
Deno.addSignalListener("SIGTERM", stop);
Deno.addSignalListener("SIGINT", stop);

console.log(JSON.stringify({ ready: true, port }));

function listen(wanted: number): Deno.HttpServer<Deno.NetAddr> {
  try {
    return Deno.serve({ hostname: "127.0.0.1", port: wanted, onListen: () => undefined }, (request) => handle(request));
  } catch (error) {
    fail(`platform: port ${wanted} cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function fail(line: string): never {
  Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));
  Deno.exit(1);
}
