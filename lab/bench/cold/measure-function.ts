import { build, type Plugin } from "vite";
import { freePort } from "../../../local/network.ts";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import type { Watchdog } from "../../../local/stack/child-process.ts";

const LOOK_EVERY_MS = 2;
const PATIENCE_MS = 20_000;
const EXPECTED = 401;

/** A server: how Deno starts it on a port, and the path to request. */
export type Program = { args(port: number): string[]; env(port: number): Record<string, string>; path: string };

/** ms from the start of a process to its first answer: 401, which needs no other service. */
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

/** The status of an answer, null while nothing listens. */
async function ask(url: string): Promise<number | null> {
  const response = await fetch(url, { method: "POST", body: "{}" }).catch(() => null);
  await response?.body?.cancel();
  return response?.status ?? null;
}

/** In kB of 1,000 bytes. */
export type FunctionSize = {
  /** All modules that it imports, unchanged, as in the platform's own bundle (eszip). */
  graph: number;
  /** Without unused code, with short names. */
  minified: number;
};

/** Bundles a function's index.ts in memory, with the packages from node_modules. */
export async function measureFunctionSize(file: string): Promise<FunctionSize> {
  const modules = new Map<string, number>();
  const count: Plugin = {
    name: "count-modules",
    transform: (code, id) => {
      if (id.startsWith("\0")) return; // the bundler's own
      modules.set(id, new TextEncoder().encode(code).length);
    },
  };
  const made = await build({
    configFile: false,
    root: PROJECT_ROOT,
    logLevel: "silent",
    plugins: [count],
    ssr: { noExternal: true, target: "webworker" },
    build: { ssr: file, write: false, minify: true, target: "es2022", rolldownOptions: { external: /^node:/ } },
  });
  const outputs = [made].flat().flatMap((each) => ("output" in each ? each.output : []));
  const minified = outputs.map((each) => (each.type === "chunk" ? new TextEncoder().encode(each.code).length : 0));
  return { graph: sum([...modules.values()]) / 1000, minified: sum(minified) / 1000 };
}

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
