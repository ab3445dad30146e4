import { expect, test } from "vitest";
import { readSettings } from "../../local/simulator/start-simulator.ts";

const complete = { SIMULATOR_PORT: "0", SIMULATOR_TOKEN: "r8_test", SIMULATOR_WEBHOOK_SECRET: "whsec_c2VjcmV0" };

function start(environment: Record<string, string>): Deno.ChildProcess {
  const main = new URL("../../local/simulator/main.ts", import.meta.url).pathname;
  const args = ["run", "-A", main];
  const pipes = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
  const { PATH = "", HOME = "" } = Deno.env.toObject();
  return new Deno.Command(Deno.execPath(), {
    args,
    env: { PATH, HOME, ...environment },
    clearEnv: true,
    ...pipes,
  }).spawn();
}

async function readyPort(child: Deno.ChildProcess): Promise<number> {
  const lines = child.stdout.pipeThrough(new TextDecoderStream());
  for await (const line of lines) {
    const ready: { ready: boolean; port: number } = JSON.parse(line);
    expect(ready.ready).toBe(true);
    return ready.port;
  }
  throw new Error("it ended without a word");
}

test("complete environment → one line of JSON with the port, serves; SIGTERM → exit 0", async () => {
  const child = start(complete);
  const port = await readyPort(child);
  const headers = { authorization: "Bearer r8_test" };
  const secret = await fetch(`http://127.0.0.1:${port}/v1/webhooks/default/secret`, { headers });
  expect(await secret.json()).toEqual({ key: "whsec_c2VjcmV0" });
  child.kill("SIGTERM");
  expect((await child.status).code).toBe(0);
  await Promise.all([child.stdin.close(), child.stderr.cancel()]);
});

test("KEYFRAME_EXIT_ON_STDIN_END=1 and stdin ends → exit 0", async () => {
  const child = start({ ...complete, KEYFRAME_EXIT_ON_STDIN_END: "1" });
  await readyPort(child);
  await child.stdin.close();
  expect((await child.status).code).toBe(0);
  await child.stderr.cancel();
});

test("no token → one line that names it, exit 1", async () => {
  const child = start({ SIMULATOR_PORT: "0", SIMULATOR_WEBHOOK_SECRET: "whsec_c2VjcmV0" });
  await child.stdin.close();
  const { code, stderr } = await child.output();
  expect(code).toBe(1);
  const message = new TextDecoder().decode(stderr);
  expect(message).toMatch(/^the simulator's environment is missing or wrong: SIMULATOR_TOKEN \([^\n]*\)\n$/);
});

test("all settings → as the simulator's options; a wrong one is named", () => {
  const extra = {
    SIMULATOR_START_DELAY_MS: "50",
    SIMULATOR_RUN_DELAY_MS: "1500",
    SIMULATOR_CALLBACK_RETRY_MS: "100,200",
    SIMULATOR_OUTPUT_LIFETIME_MS: "60000",
    SIMULATOR_IMAGE_WIDTH: "1280",
    SIMULATOR_PUBLIC_URL: "http://127.0.0.1:5000",
  };
  expect(readSettings({ ...complete, ...extra })).toEqual({
    port: 0,
    token: "r8_test",
    webhookSecret: "whsec_c2VjcmV0",
    startDelayMs: 50,
    runDelayMs: 1500,
    callbackRetryMs: [100, 200],
    outputLifetimeMs: 60_000,
    imageWidth: 1280,
    publicUrl: "http://127.0.0.1:5000",
  });
  expect(() => readSettings({ ...complete, SIMULATOR_CALLBACK_RETRY_MS: "soon" })).toThrow(
    "SIMULATOR_CALLBACK_RETRY_MS",
  );
  expect(() => readSettings({ ...complete, SIMULATOR_WEBHOOK_SECRET: "secret" })).toThrow("SIMULATOR_WEBHOOK_SECRET");
});
