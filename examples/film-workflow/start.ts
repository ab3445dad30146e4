// Runs Restate and server.ts beside `npm start`, and connects the three. In production each is its own service.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { createKeyframeClient } from "keyframe-client";

const { KEYFRAME_URL = "http://127.0.0.1:54321", KEYFRAME_DATA = "../../.keyframe", PORT = "54380" } = process.env;
const [restatePort, adminPort, nodePort, workflowPort, webhookPort] = [0, 1, 2, 3, 4].map(
  (more) => Number(PORT) + more,
);
const RESTATE_URL = `http://127.0.0.1:${restatePort}`;
const folder = fileURLToPath(new URL(".", import.meta.url));
const data = resolve(folder, KEYFRAME_DATA);
const { secretKey } = JSON.parse(readFileSync(`${data}/keys.json`, "utf8"));

/** Runs a program in this terminal. When it ends, so does everything. */
function run(program: string, args: string[], env: Record<string, string>): void {
  const child = spawn(program, args, { cwd: folder, env: { ...process.env, ...env }, stdio: "inherit" });
  child.on("exit", (code) => process.exit(code ?? 1));
  process.on("exit", () => child.kill());
}

/** Waits for a server that starts, then asks it. */
async function ask(url: string, init?: RequestInit): Promise<void> {
  for (let tries = 100; ; tries -= 1) {
    const response = await fetch(url, init).catch(() => null);
    if (response?.ok) return;
    if (tries === 0) throw new Error(`${url} answered ${response ? await response.text() : "nothing"}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(0));

// Uses the secret key as its token, so the endpoint gets the events of every user.
const { webhooks } = createKeyframeClient({ url: KEYFRAME_URL, getToken: () => secretKey });
const url = `http://127.0.0.1:${webhookPort}/`;
const known = (await webhooks.list()).webhooks.find((webhook) => webhook.url === url);
const eventTypes = ["generation.succeeded" as const, "generation.failed" as const];
const { secret } = known ? await webhooks.secret(known.webhookId) : await webhooks.create({ url, eventTypes });

const server = `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`;
run(createRequire(import.meta.url).resolve(server), ["--no-logo"], {
  RESTATE_BASE_DIR: `${data}/restate`,
  RESTATE_NODE_NAME: "film",
  RESTATE_LISTEN_MODE: "tcp",
  RESTATE_BIND_IP: "127.0.0.1",
  RESTATE_BIND_ADDRESS: `127.0.0.1:${nodePort}`,
  RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${restatePort}`,
  RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${adminPort}`,
  RESTATE_LOG_FILTER: "warn",
  DO_NOT_TRACK: "1",
});
run(process.execPath, ["run", "-A", "server.ts"], {
  KEYFRAME_URL,
  KEYFRAME_SECRET_KEY: secretKey,
  WEBHOOK_SECRET: secret,
  RESTATE_URL,
  WORKFLOW_PORT: String(workflowPort),
  WEBHOOK_PORT: String(webhookPort),
});

// `force`: the code may have changed since the last start, as it does while one tries things out.
const deployment = { uri: `http://127.0.0.1:${workflowPort}`, use_http_11: true, force: true };
const body = JSON.stringify(deployment);
await ask(`http://127.0.0.1:${adminPort}/deployments`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body,
});
console.log(
  `Restate takes films at ${RESTATE_URL}; watch them at http://127.0.0.1:${adminPort}. Make one: npm run film`,
);
