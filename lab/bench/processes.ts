import { spawnWithParent } from "../../local/spawn-with-parent.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";

export type BenchProcess = { pid: number; ended: AbortSignal; stop(): Promise<void> };

/** Starts a module or an edge function in a process of its own, which ends with this process. */
export function spawnDeno([command = "", ...rest]: string[], env: Record<string, string>): BenchProcess {
  const child = spawnWithParent(Deno.execPath(), {
    args: [command, "--quiet", ...rest],
    cwd: PROJECT_ROOT,
    clearEnv: true,
    env: { ...env, DENO_NO_UPDATE_CHECK: "1" },
    stdout: "null",
    stderr: "inherit",
  });
  const ended = new AbortController();
  void child.status.then(() => ended.abort());
  return {
    pid: child.pid,
    ended: ended.signal,
    stop: async () => {
      if (!ended.signal.aborted) child.kill("SIGKILL");
      await child.status;
    },
  };
}
