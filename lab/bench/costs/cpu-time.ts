import type postgres from "postgres";

/** What Linux counts processor time in, per second (USER_HZ, the same on all its common builds). */
const TICKS_PER_SECOND = 100;

/** ms of processor time that a process has used so far; 0 where nobody tells (elsewhere than on Linux). */
export const cpuOfProcess = async (pid: number): Promise<number> => {
  const stat = await readStat(pid);
  return stat === null ? 0 : stat.own;
};

/**
 * ms that a Postgres on this machine has used: of its main process, those of its children that live, and those that have
 * ended. Linux only. Throws where it runs elsewhere.
 */
export async function cpuOfPostgres(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const backend = row && (await readStat(row.pid));
  const main = backend && (await readStat(backend.parent));
  if (!main) throw new Error("The processes of this Postgres cannot be seen from here.");
  let children = 0;
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readStat(Number(name));
    if (stat?.parent === backend.parent) children += (await readPrecisely(Number(name))) ?? stat.own;
  }
  return main.own + main.ended + children;
}

/** To the nanosecond, but of one thread only: enough for Postgres. Null where the kernel does not tell. */
async function readPrecisely(pid: number): Promise<number | null> {
  const text = await Deno.readTextFile(`/proc/${pid}/schedstat`).catch(() => null);
  return text === null ? null : Number(text.split(" ")[0]) / 1_000_000;
}

/** Null when there is no such process. Its own time, and that of its children that have ended, in ms. */
async function readStat(pid: number): Promise<{ parent: number; own: number; ended: number } | null> {
  const text = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => null);
  if (text === null) return null;
  // The command's name, in brackets, may hold spaces. Behind it: state, parent, …, utime, stime, cutime, cstime from place 11 on.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const ms = (place: number) => (Number(fields[place]) / TICKS_PER_SECOND) * 1000;
  return { parent: Number(fields[1]), own: ms(11) + ms(12), ended: ms(13) + ms(14) };
}
