import { join } from "node:path";
import { sign } from "../../shared/signature.ts";
import { freePort } from "../postgres/free-port.ts";
import { ChildProcess } from "../stack/child-process.ts";
import { describeFunction } from "../stack/describe-children.ts";
import type { FunctionName } from "../stack/function-arguments.ts";
import { Watchdog } from "../stack/watchdog.ts";
import { pause, type World } from "./world.ts";

const KICK_EVERY_MS = 500;

export type SecondProcess = {
  forMs: number;
  /** How far its clock is ahead, in ms. */
  aheadMs: number;
  /** Ended by SIGKILL, in the middle of whatever it does. */
  killed: boolean;
};

/**
 * Runs another process of a function beside the stack's own, as the hosted platform does when it likes, and kicks it again
 * and again. A clock that is wrong is put in its place before the function is loaded.
 */
export async function runSecondProcess(
  { stack, dataDir }: World,
  name: Extract<FunctionName, "generate" | "deliver">,
  { forMs, aheadMs, killed }: SecondProcess,
): Promise<void> {
  const end = performance.now() + forMs;
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
  const preload = aheadMs === 0 ? [] : [`--preload=${await writeClock(dataDir, aheadMs)}`];
  const child = new ChildProcess({ ...described, args: [run, ...preload, ...rest] });
  await child.start();
  try {
    while (performance.now() < end) {
      const headers = sign(stack.keys.kickSecret, `kick_${crypto.randomUUID()}`, new Date(Date.now() + aheadMs), "{}");
      const request = { method: "POST", body: "{}", headers: { ...headers, "content-type": "application/json" } };
      const answer = await fetch(`http://127.0.0.1:${port}/${name}`, request).catch(() => null);
      await answer?.body?.cancel();
      await pause(KICK_EVERY_MS);
    }
    if (killed) child.kill("SIGKILL");
  } finally {
    await child.stop();
    await watchdog.stop();
  }
}

/** A module that moves Date; Deno runs it before the function's own. */
async function writeClock(dataDir: string, aheadMs: number): Promise<string> {
  const file = join(dataDir, `clock-${aheadMs}.js`);
  await Deno.writeTextFile(
    file,
    `const ahead = ${aheadMs};
const Real = Date;
globalThis.Date = class extends Real {
  constructor(...given) {
    if (given.length === 0) super(Real.now() + ahead);
    else super(...given);
  }
  static now() {
    return Real.now() + ahead;
  }
};
`,
  );
  return file;
}
