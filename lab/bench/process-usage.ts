import type postgres from "postgres";
import { pause } from "../../shared/platform/retry.ts";
import { spreadOf } from "./measure.ts";

const LOOK_EVERY_MS = 20;
const KB = 1024 / 1_000_000;

/** Samples a process's memory until it is stopped; returns the most, in MB. */
export function watchMemory(pid: number): { stop(): Promise<number> } {
  let isOver = false;
  const watched = (async () => {
    let most = 0;
    while (!isOver) {
      most = Math.max(most, await residentMb(pid));
      await pause(LOOK_EVERY_MS);
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

/** ms of processor time. */
export type Cpu = { postgres: number; functions: number };

/** Measures the processor time of one operation in Postgres and other processes, over several rounds. */
export class CpuMeter {
  readonly #sql: postgres.Sql;
  readonly #pids: number[];
  readonly #countsOwn: boolean;
  /** Empty off Linux, and for a Postgres elsewhere. */
  readonly rounds: Cpu[] = [];

  /** `countsOwn`: whether what the benchmark itself asks Postgres through `sql` counts. */
  constructor(sql: postgres.Sql, pids: number[], countsOwn = true) {
    this.#sql = sql;
    this.#pids = pids;
    this.#countsOwn = countsOwn;
  }

  /** A round of `work`, which does `count` of them. */
  async during<Value>(count: number, work: () => Promise<Value>): Promise<Value> {
    const before = await this.#read();
    const value = await work();
    const after = await this.#read();
    if (before && after)
      this.rounds.push({
        postgres: (after.postgres - before.postgres) / count,
        functions: (after.functions - before.functions) / count,
      });
    return value;
  }

  /** The medians. Null without rounds. */
  get cost(): Cpu | null {
    if (this.rounds.length === 0) return null;
    const each = (key: keyof Cpu) => spreadOf(this.rounds.map((round) => round[key])).median;
    return { postgres: each("postgres"), functions: each("functions") };
  }

  /** Of Postgres: its main process, with children that live and that have ended. */
  async #read(): Promise<Cpu | null> {
    const own = await this.#sql<{ pid: number }[]>`
      select pid from pg_stat_activity where application_name = current_setting('application_name')`;
    const backend = own[0] && (await readStat(own[0].pid));
    const main = backend && (await readStat(backend.parent));
    if (!main) return null;
    let postgres = main.own + main.ended;
    for await (const { name } of Deno.readDir("/proc")) {
      if (!this.#countsOwn && own.some(({ pid }) => String(pid) === name)) continue;
      const stat = /^\d+$/.test(name) ? await readStat(Number(name)) : null;
      if (stat?.parent === backend.parent) postgres += stat.own;
    }
    const each = await Promise.all(this.#pids.map(readStat));
    // NaN for a process that is gone, which no spread accepts.
    return { postgres, functions: each.reduce((sum, stat) => sum + (stat?.own ?? Number.NaN), 0) };
  }
}

/** Clock ticks a second in /proc (USER_HZ, the same on all common builds of Linux). */
const TICKS_PER_SECOND = 100;

/** A process's parent, and ms of its own and of its ended children. Null when there is no such process. */
async function readStat(pid: number): Promise<{ parent: number; own: number; ended: number } | null> {
  const text = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => null);
  if (text === null) return null;
  // The command's name, in brackets, may hold spaces. Fields 11 to 14 after it are utime, stime, cutime and cstime.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const ms = (at: number) => (Number(fields[at]) / TICKS_PER_SECOND) * 1000;
  return { parent: Number(fields[1]), own: ms(11) + ms(12), ended: ms(13) + ms(14) };
}
