import type { Running } from "../tools/run-command.ts";
import { until } from "../until.ts";

/** A program that a test kills as a crash would, and that runs again at once. */
export type Crashing = {
  /** Kills it, runs it again and waits until it serves. */
  crash(): Promise<void>;
  /** The same, with other variables from now on. */
  crashInto(env: Record<string, string>): Promise<void>;
  stop(): Promise<void>;
};

/** Runs a program, and waits until `url` answers in any way. */
export async function runCrashing(
  name: string,
  url: string,
  run: (env: Record<string, string>) => Running,
): Promise<Crashing> {
  let env: Record<string, string> = {};
  let running: Running;
  const start = async () => {
    running = run(env);
    let end: string | undefined;
    void running.ended.then(({ output }) => {
      end = output;
    });
    await until(`${name} serves`, async () => {
      if (end !== undefined) throw new Error(`${name} ended: ${end}`);
      const response = await fetch(url).catch(() => null);
      await response?.body?.cancel();
      return response !== null;
    });
  };
  const stop = async () => {
    running.kill("SIGKILL");
    await running.ended;
  };
  await start();
  const crash = async () => {
    await stop();
    await start();
  };
  return {
    crash,
    crashInto: async (change) => {
      env = change;
      await crash();
    },
    stop,
  };
}
