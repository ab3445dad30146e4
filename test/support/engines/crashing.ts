import { readLines, spawnWithParent } from "../../../local/spawn-with-parent.ts";
import { machineVariables } from "../../../local/stack/describe-children.ts";
import { until } from "../until.ts";

/** A program that a test kills as a crash would, and that runs again at once. It ends with the test's process, however that ends. */
type Crashing = {
  /** Kills it, runs it again and waits until it serves. */
  crash(): Promise<void>;
  /** The same, with another command from now on. */
  crashInto(command: Command): Promise<void>;
  stop(): Promise<void>;
};

export type Command = { program: string; args: string[]; env: Record<string, string>; cwd: string };

/** Runs a program, and waits until `url` answers with less than 500. */
export async function runCrashing(name: string, url: string, first: Command): Promise<Crashing> {
  let command = first;
  let process: Deno.ChildProcess;
  const start = async () => {
    const { program, env, ...options } = command;
    const output: string[] = [];
    const piped = { clearEnv: true, stdout: "piped", stderr: "piped" } as const;
    process = spawnWithParent(program, { ...options, ...piped, env: { ...machineVariables(), ...env } });
    for (const stream of [process.stdout, process.stderr]) void readLines(stream, (line) => output.push(line));
    let hasEnded = false;
    void process.status.then(() => {
      hasEnded = true;
    });
    await until(`${name} serves`, async () => {
      if (hasEnded) throw new Error(`${name} ended: ${output.join("\n")}`);
      const response = await fetch(url).catch(() => null);
      await response?.body?.cancel();
      return response !== null && response.status < 500;
    });
  };
  const stop = async () => {
    process.kill("SIGKILL");
    await process.status;
  };
  await start();
  let last: Promise<void> = Promise.resolve();
  /** One after the other, or two would want its port. */
  const crashInto = (next: Command) => {
    last = last.then(async () => {
      command = next;
      await stop();
      await start();
    });
    return last;
  };
  return { crash: () => crashInto(command), crashInto, stop };
}
