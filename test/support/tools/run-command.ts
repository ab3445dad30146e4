import { join } from "node:path";
import { machineVariables } from "../../../local/stack/describe-children.ts";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { until } from "../until.ts";

/** `said` is standard output, `error` the other one, `output` both as they came; `lastLine` is of standard output, where there is one. */
type Ended = { code: number; said: string; error: string; output: string; lastLine: string };

/** A command of the project that runs as a process of its own. */
export type Running = {
  pid: number;
  /** All it has printed so far. */
  output(): string;
  /** Waits until it has printed this; throws with its output when it ends before. */
  printed(text: string): Promise<void>;
  kill(signal: Deno.Signal): void;
  /** Settles when it has ended and all its output is read. */
  ended: Promise<Ended>;
};

/** Runs a command such as `tools/demo.ts` as npm does, without npm. */
export function runCommand(script: string, args: string[], env: Record<string, string> = {}): Running {
  return runProgram(Deno.execPath(), ["run", "-A", join(PROJECT_ROOT, script), ...args], env);
}

/**
 * A variable of "" is left out. Of the machine's only a few are inherited: the suite may itself run on a given database or with a token.
 */
export function runProgram(
  program: string,
  args: string[],
  env: Record<string, string> = {},
  cwd: string = PROJECT_ROOT,
): Running {
  const set = Object.entries({ ...machineVariables(), ...env }).filter(([, value]) => value !== "");
  const process = new Deno.Command(program, {
    args,
    cwd,
    clearEnv: true,
    env: Object.fromEntries(set),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let output = "";
  const looks = new Set<() => void>();
  const read = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    let said = "";
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      said += text;
      output += text;
      for (const look of looks) look();
    }
    return said;
  };
  const reading = Promise.all([read(process.stdout), read(process.stderr)]);
  const ended = process.status.then(async ({ code }) => {
    const [said, error] = await reading;
    return { code, said, error, output, lastLine: (said || output).trim().split("\n").at(-1) ?? "" };
  });
  return {
    pid: process.pid,
    output: () => output,
    printed: (text) =>
      new Promise((resolve, reject) => {
        const look = () => output.includes(text) && resolve();
        looks.add(look);
        look();
        ended.then(() => reject(new Error(`It ended without printing "${text}":\n${output}`)));
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
