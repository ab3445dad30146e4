const LOOK_EVERY_MS = 20;
const KB = 1024 / 1_000_000;

/** Looks at what a process holds in memory until it is stopped; then it tells the most there was, in MB. */
export function watchMemory(
  pid: number,
  read: (pid: number) => Promise<number> = residentMb,
): { stop(): Promise<number> } {
  let isOver = false;
  const watched = (async () => {
    let most = 0;
    while (!isOver) {
      most = Math.max(most, await read(pid));
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    return most;
  })();
  watched.catch(() => undefined); // told by stop()
  return {
    stop: () => {
      isOver = true;
      return watched;
    },
  };
}

/** The resident set of a process, in MB of 1,000,000 bytes. Throws when there is no such process. */
export async function residentMb(pid: number): Promise<number> {
  const kb = Deno.build.os === "linux" ? await fromProc(pid) : await fromPs(pid);
  if (!(kb > 0)) throw new Error(`Process ${pid} is gone.`);
  return kb * KB;
}

async function fromProc(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
}

async function fromPs(pid: number): Promise<number> {
  const { stdout } = await new Deno.Command("ps", { args: ["-o", "rss=", "-p", String(pid)] }).output();
  return Number(new TextDecoder().decode(stdout));
}
