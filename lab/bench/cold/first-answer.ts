import { freePort } from "../../../local/network.ts";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import type { Watchdog } from "../../../local/stack/child-process.ts";

const LOOK_EVERY_MS = 2;
const PATIENCE_MS = 20_000;
const EXPECTED = 401;

/** A program that serves: how Deno is started for a port, and the path that is asked. */
export type Program = { args(port: number): string[]; env(port: number): Record<string, string>; path: string };

/** ms from the start of a process until it has answered a request, an unauthorized one, for that needs nobody else. */
export async function measureFirstAnswer(program: Program, watchdog: Watchdog): Promise<number> {
  const port = freePort();
  const start = performance.now();
  const child = new Deno.Command(Deno.execPath(), {
    args: program.args(port),
    env: program.env(port),
    clearEnv: true,
    cwd: PROJECT_ROOT,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  watchdog.add(child.pid);
  const said = new Response(child.stderr).text();
  let isOver = false;
  const ended = child.status.then(() => {
    isOver = true;
  });
  try {
    for (;;) {
      const status = await ask(`http://127.0.0.1:${port}${program.path}`);
      const ms = performance.now() - start;
      if (status === EXPECTED) return ms;
      if (status !== null) throw new Error(`${program.path} answered ${status} instead of ${EXPECTED}.`);
      if (isOver) throw new Error(`${program.path} ended at its start: ${await said}`);
      if (ms > PATIENCE_MS) throw new Error(`${program.path} did not answer within ${PATIENCE_MS} ms.`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  } finally {
    if (!isOver) child.kill("SIGKILL");
    await ended;
    watchdog.remove(child.pid);
  }
}

/** The status of an answer, null while nobody serves. */
async function ask(url: string): Promise<number | null> {
  const response = await fetch(url, { method: "POST", body: "{}" }).catch(() => null);
  await response?.body?.cancel();
  return response?.status ?? null;
}
