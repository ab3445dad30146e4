import { freePort } from "../../local/network.ts";
import { ChildProcess, Watchdog } from "../../local/stack/child-process.ts";
import { describeFunction } from "../../local/stack/describe-children.ts";
import type { FunctionName } from "../../local/stack/function-arguments.ts";
import type { Stack } from "../../local/stack/start-stack.ts";
import { writeClock, type WrongClock } from "./wrong-clock.ts";

export type SecondProcess = {
  /** `http://host:port`; the function's name is the first part of its paths, as hosted. */
  origin: string;
  child: ChildProcess;
  kill(signal: Deno.Signal): void;
  /** May be called twice. */
  stop(): Promise<void>;
};

export type SecondOptions = {
  clock?: WrongClock | undefined;
  /** Modules that Deno runs before the function's own. */
  preload?: readonly string[];
  /** Where it listens, instead of on a port of its own: that of a process that has ended. */
  port?: number | undefined;
  logFile?: string;
};

/** Starts another process of a function beside the stack's own, or in its place. */
export async function startSecondProcess(
  { stack, dataDir }: { stack: Stack; dataDir: string },
  name: FunctionName,
  { clock, preload = [], port = freePort(), logFile }: SecondOptions = {},
): Promise<SecondProcess> {
  const watchdog = new Watchdog();
  const setting = {
    dataDir,
    port: Number(new URL(stack.url).port),
    url: stack.url,
    keys: stack.keys,
    simulatorPort: stack.simulator ? Number(new URL(stack.simulator.url).port) : undefined,
    functionPorts: { [name]: port },
    watchdog,
  };
  const described = describeFunction(setting, name);
  const [run = "run", ...rest] = described.args;
  const modules = clock === undefined ? preload : [await writeClock(dataDir, clock), ...preload];
  const args = [run, ...modules.map((module) => `--preload=${module}`), ...rest];
  const child = new ChildProcess({ ...described, args, ...(logFile === undefined ? {} : { logFile }) });
  try {
    await child.start();
  } catch (error) {
    await watchdog.stop();
    throw error;
  }
  return {
    origin: `http://127.0.0.1:${port}`,
    child,
    kill: (signal) => child.kill(signal),
    stop: async () => {
      await child.stop();
      await watchdog.stop();
    },
  };
}
