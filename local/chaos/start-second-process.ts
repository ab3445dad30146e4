import { freePort } from "../postgres/free-port.ts";
import { ChildProcess } from "../stack/child-process.ts";
import { describeFunction } from "../stack/describe-children.ts";
import type { FunctionName } from "../stack/function-arguments.ts";
import type { Stack } from "../stack/stack-types.ts";
import { Watchdog } from "../stack/watchdog.ts";
import { writeClock, type WrongClock } from "./wrong-clock.ts";

export type SecondProcess = {
  /** `http://host:port`; the function's name is the first part of its paths, as hosted. */
  origin: string;
  kill(signal: Deno.Signal): void;
  stop(): Promise<void>;
};

/** Starts another process of a function beside the stack's own, with a clock of its own if one is given. */
export async function startSecondProcess(
  { stack, dataDir }: { stack: Stack; dataDir: string },
  name: FunctionName,
  clock?: WrongClock,
): Promise<SecondProcess> {
  const port = freePort();
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
  const preload = clock === undefined ? [] : [`--preload=${await writeClock(dataDir, clock)}`];
  const child = new ChildProcess({ ...described, args: [run, ...preload, ...rest] });
  await child.start();
  return {
    origin: `http://127.0.0.1:${port}`,
    kill: (signal) => child.kill(signal),
    stop: async () => {
      await child.stop();
      await watchdog.stop();
    },
  };
}
