import { createClient } from "@supabase/supabase-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generateSigningKey } from "../../local/platform/session-tokens.ts";
import { type RunningPostgres, startPostgres } from "../../local/postgres/start-postgres.ts";
import { PUBLISHABLE_KEY, SECRET_KEY } from "./platform-fixture.ts";

let folder: string;
let postgres: RunningPostgres;
let settings: Record<string, string>;
const running: Deno.ChildProcess[] = [];

beforeAll(async () => {
  folder = await Deno.makeTempDir({ prefix: "kf-platform-" });
  await Deno.chmod(folder, 0o755);
  postgres = await startPostgres({ dataDir: `${folder}/postgres`, durable: false });
  settings = {
    GATEWAY_PORT: "0",
    DATABASE_URL: postgres.url,
    PLATFORM_JWK: JSON.stringify(await generateSigningKey()),
    LITE_JWT_SECRET: crypto.randomUUID() + crypto.randomUUID(),
    PUBLISHABLE_KEY,
    SECRET_KEY,
    STORAGE_DIR: `${folder}/storage`,
    FUNCTIONS: '{"api":"http://127.0.0.1:1"}',
    KEYFRAME_EXIT_ON_STDIN_END: "1",
  };
});
afterAll(async () => {
  for (const child of running) {
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
  }
  await postgres?.stop();
  await Deno.remove(folder, { recursive: true });
});

function start(environment: Record<string, string>): Deno.ChildProcess {
  const entry = new URL("../../local/platform/main.ts", import.meta.url).pathname;
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--unstable-no-legacy-abort", entry],
    env: environment,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  });
  const child = command.spawn();
  running.push(child);
  return child;
}

/** The first line of stdout; what follows is read away. */
async function firstLine(child: Deno.ChildProcess): Promise<string> {
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
  }
  void (async () => {
    while (!(await reader.read()).done);
  })();
  return text.split("\n")[0] ?? "";
}

test("start → one line of JSON with the port, then it serves; SIGTERM → exit 0", async () => {
  const child = start(settings);
  const { ready, port } = JSON.parse(await firstLine(child));
  expect(ready).toBe(true);
  const url = `http://127.0.0.1:${port}`;
  const client = createClient(url, PUBLISHABLE_KEY, { auth: { persistSession: false } });
  const { data } = await client.auth.signUp({ email: `${crypto.randomUUID()}@example.com`, password: "correct horse" });
  expect(data.session?.access_token).toBeTruthy();
  expect(await (await fetch(url)).text()).toContain("/rest/v1");
  expect((await fetch(`${url}/functions/v1/api/x`)).status).toBe(503);
  child.kill("SIGTERM");
  expect((await child.status).code).toBe(0);
});

test("the end of stdin → exit 0, so that nothing is left of a stack whose parent was killed", async () => {
  const child = start(settings);
  await firstLine(child);
  await child.stdin.close();
  expect((await child.status).code).toBe(0);
});

test.each([
  [
    "without PLATFORM_JWK and with a short secret",
    { PLATFORM_JWK: "", LITE_JWT_SECRET: "short" },
    ["PLATFORM_JWK", "LITE_JWT_SECRET"],
  ],
  [
    "with a database that is not there",
    { DATABASE_URL: "postgres://a:b@127.0.0.1:1/c" },
    ["database cannot be prepared"],
  ],
])("start %s → one line that says so, exit 1", async (_, wrong, words) => {
  const child = start({ ...settings, ...wrong });
  const { code, stderr } = await child.output();
  expect(code).toBe(1);
  const lines = new TextDecoder().decode(stderr).trim().split("\n");
  expect(lines).toHaveLength(1);
  for (const word of words) expect(lines[0]).toContain(word);
});

test("a port in use → one line that names it, exit 1", async () => {
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const child = start({ ...settings, GATEWAY_PORT: String(taken.addr.port) });
  const { code, stderr } = await child.output();
  taken.close();
  expect(code).toBe(1);
  const lines = new TextDecoder().decode(stderr).trim().split("\n");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(String(taken.addr.port));
});
