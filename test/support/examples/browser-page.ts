import { freePort } from "../../../local/network.ts";
import { until } from "../until.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
const VITE = ["run", "-A", "node_modules/vite/bin/vite.js"];

/** Runs Vite as examples/browser-page/README.md does. Returns once it has ended; throws what it said when it failed. */
export async function runVite(...args: string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), { args: [...VITE, ...args], cwd: ROOT }).output();
  if (code !== 0) throw new Error(new TextDecoder().decode(stderr));
}

/** Serves the page with Vite's development server. Stop it in the end. */
export async function servePage(): Promise<{ url: string; stop(): Promise<void> }> {
  const port = freePort();
  const args = [...VITE, "examples/browser-page", "--port", String(port), "--strictPort"];
  const child = new Deno.Command(Deno.execPath(), { args, cwd: ROOT, stdin: "null", stdout: "null" }).spawn();
  const url = `http://127.0.0.1:${port}/`;
  await until("Vite serves the page", async () => {
    const response = await fetch(url).catch(() => null);
    await response?.body?.cancel();
    return response?.ok;
  });
  return {
    url,
    stop: async () => {
      child.kill("SIGTERM");
      await child.status;
    },
  };
}
