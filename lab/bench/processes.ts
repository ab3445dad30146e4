import { join } from "node:path";
import { spawnWithParent } from "../../local/spawn-with-parent.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";

export type BenchProcess = {
  pid: number;
  ended: AbortSignal;
  stop(): Promise<void>;
  /** Stands still until it is resumed. */
  pause(): void;
  resume(): void;
};

/** Starts a module or an edge function in its own process, which ends with this process. */
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
    pause: () => child.kill("SIGSTOP"),
    resume: () => child.kill("SIGCONT"),
  };
}

let installed: Promise<void> | undefined;

/** Starts a module of peers/, whose package.json is its own: no clone carries its packages, so the first start installs them. */
export async function spawnPeer(file: string, env: Record<string, string>): Promise<BenchProcess> {
  installed ??= installPeers();
  await installed;
  return spawnDeno(["run", "-A", join(PROJECT_ROOT, "lab/bench/peers", file)], env);
}

async function installPeers(): Promise<void> {
  const args = ["local/install-missing.mjs", "lab/bench/peers"];
  const child = new Deno.Command("node", { args, cwd: PROJECT_ROOT, stdout: "piped" }).spawn();
  await child.stdout.pipeTo(Deno.stderr.writable, { preventClose: true }); // its output is not a result
  if (!(await child.status).success) throw new Error("The packages of lab/bench/peers could not be installed.");
}
