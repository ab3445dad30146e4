import postgres from "postgres";
import { bootstrapPlatform } from "./bootstrap-platform.ts";
import { createPlatform } from "./create-platform.ts";
import { log } from "./log.ts";
import { readSettings } from "./read-settings.ts";

const settings = readSettings(Deno.env.toObject());
if ("fault" in settings) fail(settings.fault);

// lite writes to the console as it likes; stdout carries JSON lines alone.
for (const level of ["error", "warn", "info", "debug"] as const) {
  console[level] = (...parts: unknown[]) =>
    log(level === "error" ? "warn" : "info", parts.map((part) => Deno.inspect(part, { depth: 2 })).join(" "));
}

// The driver drops promises when Postgres goes away under it. The requests concerned get their answers; the process stays.
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
  // Requests under way get a moment to end; a stream without end does not hold up the exit.
  setTimeout(() => Deno.exit(0), 3_000);
  await server.shutdown();
  await platform.close();
  Deno.exit(0);
}
Deno.addSignalListener("SIGTERM", stop);
Deno.addSignalListener("SIGINT", stop);
if (settings.KEYFRAME_EXIT_ON_STDIN_END === "1") {
  void Deno.stdin.readable.pipeTo(new WritableStream()).then(stop, stop);
}

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
