import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { claimPort } from "../../local/network.ts";
import { functionArguments } from "../../local/stack/function-arguments.ts";
import { until } from "../support/until.ts";

// The function as the stack runs it. Nothing is asked of a database: all of these requests are refused before.

const ENVIRONMENT = {
  SUPABASE_URL: "http://127.0.0.1:9",
  SUPABASE_PUBLISHABLE_KEYS: '{"default":"sb_publishable_made-up"}',
  SUPABASE_SECRET_KEYS: '{"default":"sb_secret_made-up"}',
  SUPABASE_JWKS: '{"keys":[]}',
};
const requestLine = z.object({ event: z.literal("request"), requestId: z.string(), status: z.int() });

/** Starts it and waits until it serves. `end` sends a signal and gives what it left behind. */
async function start() {
  const port = claimPort(0);
  const child = new Deno.Command(Deno.execPath(), {
    args: functionArguments("api", port, ["127.0.0.1:9"]),
    clearEnv: true,
    env: { ...ENVIRONMENT, DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}` },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  let ended = false;
  void child.status.then(() => {
    ended = true;
  });
  onTestFinished(() => {
    if (!ended) child.kill("SIGKILL");
  });
  const call = async (requestId: string, path = "/api/projects"): Promise<number> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { "x-request-id": requestId } });
    await response.body?.cancel();
    return response.status;
  };
  await until("api serves", async () => {
    const status = await call("first").catch(() => undefined);
    if (ended) throw new Error("It ended at its start.");
    return status;
  });
  return {
    call,
    async end(signal: Deno.Signal = "SIGTERM") {
      child.kill(signal);
      const { code, stdout } = await output;
      const lines = new TextDecoder().decode(stdout).split("\n");
      return { code, logged: lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line)) };
    },
  };
}

test("many requests at once, then SIGTERM → ends at once, with one line of each, none twice", async () => {
  const api = await start();
  const ids = Array.from({ length: 200 }, (_, at) => `r-${at}`);
  expect(new Set(await Promise.all(ids.map((id) => api.call(id))))).toEqual(new Set([401]));
  expect(await api.call("last")).toBe(401);
  const { code, logged } = await api.end();
  expect(code).toBe(143);
  expect(logged.map((line) => requestLine.parse(line).requestId).sort()).toEqual(["first", "last", ...ids].sort());
});

test("an answer with 503, then SIGKILL → has its line all the same, after what came before", async () => {
  const api = await start();
  expect([await api.call("refused"), await api.call("away", "/api/health")]).toEqual([401, 503]);
  const { logged } = await api.end("SIGKILL");
  expect(logged.map((line) => requestLine.parse(line).requestId)).toEqual(["first", "refused", "away"]);
});
