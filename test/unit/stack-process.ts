import { join } from "node:path";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { until } from "../support/until.ts";

/** A command of the project that runs as a process of its own. */
export type Running = {
  pid: number;
  /** All it has printed so far. */
  output(): string;
  /** Waits until it has printed this; throws with its output when it ends before. */
  printed(text: string): Promise<void>;
  kill(signal: Deno.Signal): void;
  /** Settles when it has ended and all its output is read; `lastLine` is of standard output, where there is one. */
  ended: Promise<{ code: number; output: string; lastLine: string }>;
};

/** Runs a command such as `tools/demo.ts` as npm does, without npm. */
export function runCommand(script: string, args: string[], env: Record<string, string> = {}): Running {
  return runProgram(Deno.execPath(), ["run", "-A", join(PROJECT_ROOT, script), ...args], env);
}

export function runProgram(program: string, args: string[], env: Record<string, string> = {}): Running {
  const process = new Deno.Command(program, {
    args,
    cwd: PROJECT_ROOT,
    // The suite may itself run on a given database or with a token; these tests say what they want.
    env: { KEYFRAME_DATABASE_URL: "", KEYFRAME_REPLICATE_API_TOKEN: "", NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let said = "";
  const looks = new Set<() => void>();
  let saidOut = "";
  const read = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>, isOut: boolean) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      said += text;
      if (isOut) saidOut += text;
      for (const look of looks) look();
    }
  };
  const reading = Promise.all([read(process.stdout, true), read(process.stderr, false)]);
  const ended = process.status.then(async ({ code }) => {
    await reading;
    return { code, output: said, lastLine: (saidOut || said).trim().split("\n").at(-1) ?? "" };
  });
  return {
    pid: process.pid,
    output: () => said,
    printed: (text) =>
      new Promise((resolve, reject) => {
        const look = () => said.includes(text) && resolve();
        looks.add(look);
        look();
        ended.then(() => reject(new Error(`It ended without printing "${text}":\n${said}`)));
      }),
    kill: (signal) => {
      try {
        process.kill(signal);
      } catch {
        // It has ended already.
      }
    },
    ended,
  };
}

/** The processes below one, however deep, as `pid command`. */
export async function descendantsOf(pid: number): Promise<string[]> {
  const children = (await linesOf("pgrep", ["-P", String(pid)])).map(Number);
  const below = await Promise.all(children.map(descendantsOf));
  return [...(await stillRunning(children)), ...below.flat()];
}

/** Waits until none of these (`pid command`) runs any more; throws with those that still do. */
export async function allGone(wanted: string[], limitMs?: number): Promise<void> {
  const pids = wanted.map((one) => Number(one.split(" ")[0]));
  const left = async () => (await stillRunning(pids)).filter((one) => wanted.includes(one));
  await until(`the end of ${wanted.join(", ")}`, async () => (await left()).length === 0, limitMs);
}

/** Those of these processes that run, as `pid command`. A zombie has ended; its parent has just not asked how. */
async function stillRunning(pids: number[]): Promise<string[]> {
  if (pids.length === 0) return [];
  const lines = await linesOf("ps", ["-ww", "-o", "pid=,stat=,args=", "-p", pids.join(",")]);
  return lines.flatMap((line) => {
    const [, pid, state, command] = /^ *(\d+) +(\S+) +(.*)$/.exec(line) ?? [];
    return command === undefined || state?.startsWith("Z") ? [] : [`${pid} ${command}`];
  });
}

async function linesOf(program: string, args: string[]): Promise<string[]> {
  const { stdout } = await new Deno.Command(program, { args }).output();
  return new TextDecoder()
    .decode(stdout)
    .split("\n")
    .filter((line) => line !== "");
}
