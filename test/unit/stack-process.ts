import { join } from "node:path";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";

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
  const all = await processes();
  const below = (parent: number): string[] =>
    all.filter((one) => one.parent === parent).flatMap((one) => [`${one.pid} ${one.command}`, ...below(one.pid)]);
  return below(pid);
}

/** Waits until none of these (`pid command`) runs any more; throws with those that still do. */
export async function allGone(wanted: string[], seconds: number): Promise<void> {
  const deadline = Date.now() + seconds * 1000;
  while (true) {
    const now = new Set((await processes()).map(({ pid, command }) => `${pid} ${command}`));
    const left = wanted.filter((one) => now.has(one));
    if (left.length === 0) return;
    if (Date.now() > deadline) throw new Error(`still running:\n${left.join("\n")}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function processes(): Promise<{ pid: number; parent: number; command: string }[]> {
  const { stdout } = await new Deno.Command("ps", { args: ["-A", "-ww", "-o", "pid=,ppid=,stat=,args="] }).output();
  const lines = new TextDecoder().decode(stdout).split("\n");
  return lines.flatMap((line) => {
    const [, pid, parent, state, command] = /^ *(\d+) +(\d+) +(\S+) +(.*)$/.exec(line) ?? [];
    // A zombie has ended; its parent has just not asked how.
    return command === undefined || state?.startsWith("Z")
      ? []
      : [{ pid: Number(pid), parent: Number(parent), command }];
  });
}
