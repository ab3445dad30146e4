import { within } from "../bounded-wait.ts";
import { runChild } from "../run-child.ts";
import { createPlatform, type PlatformOptions } from "./create-platform.ts";
import { log } from "./log.ts";

export type GatewaySettings = PlatformOptions & { port: number };

/** How long running requests may take at the end: an endless stream must not delay the exit. */
const GRACE_MS = 3_000;

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

await runChild<GatewaySettings>(async ({ port, ...options }) => {
  const platform = await createPlatform(options);
  const server = Deno.serve({ hostname: "127.0.0.1", port, onListen: () => undefined }, platform.fetch);
  return () => within(server.shutdown().then(platform.close), GRACE_MS, () => undefined);
});
