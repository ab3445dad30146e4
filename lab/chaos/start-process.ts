import { join } from "node:path";
import { freePort } from "../../local/network.ts";
import { ChildProcess } from "../../local/stack/child-process.ts";
import { describeFunction } from "../../local/stack/describe-children.ts";
import type { FunctionName } from "../../local/stack/function-arguments.ts";
import type { Stack } from "../../local/stack/start-stack.ts";

export type SecondProcess = {
  /** `http://host:port`; paths start with the function's name, as hosted. */
  origin: string;
  child: ChildProcess;
  kill(signal: Deno.Signal): void;
  /** May be called twice. */
  stop(): Promise<void>;
};

/** Starts another process of a function in addition to the stack's own. */
export async function startSecondProcess(
  { stack, dataDir }: { stack: Stack; dataDir: string },
  name: FunctionName,
  { clock }: { clock?: WrongClock | undefined } = {},
): Promise<SecondProcess> {
  const port = freePort();
  const setting = {
    dataDir,
    port: Number(new URL(stack.url).port),
    url: stack.url,
    keys: stack.keys,
    simulatorPort: stack.simulator ? Number(new URL(stack.simulator.url).port) : undefined,
    functionPorts: { [name]: port },
  };
  const described = describeFunction(setting, name);
  const [run = "run", ...rest] = described.args;
  const modules = clock === undefined ? [] : [`--preload=${await writeClock(dataDir, clock)}`];
  const child = new ChildProcess({ ...described, args: [run, ...modules, ...rest] });
  await child.start();
  return {
    origin: `http://127.0.0.1:${port}`,
    child,
    kill: (signal) => child.kill(signal),
    stop: () => child.stop(),
  };
}

const JUMP_EVERY_MS = 700;

/** How far a clock is ahead, in ms; negative: behind. One that `jumps` alternates between wrong and right. */
type WrongClock = { aheadMs: number; jumps: boolean };

/**
 * Writes a module that moves Date, for --preload, and returns its path. Timers and performance.now() stay right, as on
 * a machine whose clock is set.
 */
async function writeClock(dataDir: string, { aheadMs, jumps }: WrongClock): Promise<string> {
  const file = join(dataDir, `clock-${aheadMs}-${jumps}.js`);
  await Deno.writeTextFile(
    file,
    `const isRight = () => ${jumps} && Math.floor(performance.now() / ${JUMP_EVERY_MS}) % 2 === 1;
const ahead = () => isRight() ? 0 : ${aheadMs};
const Real = Date;
globalThis.Date = class extends Real {
  constructor(...given) {
    if (given.length === 0) super(Real.now() + ahead());
    else super(...given);
  }
  static now() {
    return Real.now() + ahead();
  }
};
`,
  );
  return file;
}
