import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";

const PATIENCE_MS = 30_000;

type BenchProcess = { port: number; pid: number; close(): Promise<void> };

/**
 * Starts a process of a benchmark. It prints one line of JSON with its port (0: none) when it is ready, and ends with
 * its standard input.
 */
export async function startProcess(module: URL, env: Record<string, string> = {}): Promise<BenchProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", module.pathname],
    cwd: PROJECT_ROOT,
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const name = module.pathname.split("/").at(-1);
  const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await reader.read();
  clearTimeout(timer);
  if (value === undefined) throw new Error(`${name} was not ready within ${PATIENCE_MS / 1000} s, or ended.`);
  const { port }: { port: number } = JSON.parse(value);
  return {
    port,
    pid: child.pid,
    close: async () => {
      await reader.cancel();
      await child.stdin.close().catch(() => undefined);
      const stuck = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
      await child.status;
      clearTimeout(stuck);
    },
  };
}

/** Resolves when the parent process closes this one's standard input or ends. */
export async function untilStdinEnds(): Promise<void> {
  for await (const _chunk of Deno.stdin.readable);
}
