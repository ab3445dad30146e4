const LOOK_EVERY_MS = 20;
const KB = 1024 / 1_000_000;

/** Samples a process's memory until it is stopped; returns the most, in MB. */
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
  watched.catch(() => undefined); // stop() rejects with it
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

/** Clock ticks a second in /proc (USER_HZ, the same on all common builds of Linux). */
const TICKS_PER_SECOND = 100;

/** Processor time that a process has used, in ms. 0 where there is no /proc. */
export async function cpuOfProcess(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  // The command's name, in brackets, may hold spaces. Fields 11 and 12 after it are utime and stime.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND) * 1000;
}
