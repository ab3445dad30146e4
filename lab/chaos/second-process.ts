import { join } from "node:path";
import { freePort } from "../../local/network.ts";
import { ChildProcess } from "../../local/stack/child-process.ts";
import { describeFunction } from "../../local/stack/describe-children.ts";
import type { FunctionName } from "../../local/stack/function-arguments.ts";
import type { Stack } from "../../local/stack/start-stack.ts";
import { pause } from "../../shared/platform/retry.ts";
import { sign } from "../../local/sign.ts";

/** `origin`: `http://host:port`; paths start with the function's name, as hosted. */
export type SecondProcess = { origin: string; child: ChildProcess };

/** How far a clock is ahead, in ms; negative: behind. With `jumps` it alternates between wrong and right. */
type WrongClock = { aheadMs: number; jumps?: boolean };

/** Starts another process of a function in addition to the stack's own, as the hosted platform may. */
export async function startSecondProcess(
  { stack, dataDir }: { stack: Stack; dataDir: string },
  name: FunctionName,
  clock: WrongClock = { aheadMs: 0 },
): Promise<SecondProcess> {
  const port = freePort();
  const described = describeFunction(
    {
      dataDir,
      port: Number(new URL(stack.url).port),
      url: stack.url,
      keys: stack.keys,
      simulatorPort: stack.simulator ? Number(new URL(stack.simulator.url).port) : undefined,
      functionPorts: { [name]: port },
    },
    name,
  );
  const [run = "run", ...rest] = described.args;
  const args = [run, `--preload=${await writeClock(dataDir, clock)}`, ...rest];
  const child = new ChildProcess({ ...described, args });
  await child.start();
  return { origin: `http://127.0.0.1:${port}`, child };
}

const JUMP_EVERY_MS = 700;

/**
 * Writes a module that moves Date, for --preload, and returns its path. Timers and performance.now() stay right, as on
 * a machine whose clock is set.
 */
export async function writeClock(dataDir: string, { aheadMs, jumps = false }: WrongClock): Promise<string> {
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

const KICK_EVERY_MS = 500;

/** Runs another process of a worker, kicks it twice a second as Postgres does, and ends it, in the middle of its work when `killed`. */
export async function runAnotherWorker(
  world: { stack: Stack; dataDir: string },
  name: "keyframe-generate" | "keyframe-deliver",
  { forMs, aheadMs, killed }: { forMs: number; aheadMs: number; killed: boolean },
): Promise<void> {
  const { origin, child } = await startSecondProcess(world, name, { aheadMs });
  const end = performance.now() + forMs;
  while (performance.now() < end) {
    const at = new Date(Date.now() + aheadMs); // within the limit for the signature by its own clock
    const headers = sign(world.stack.keys.kickSecret, `kick_${crypto.randomUUID()}`, at, "{}");
    const request = { method: "POST", body: "{}", headers: { ...headers, "content-type": "application/json" } };
    const answer = await fetch(`${origin}/${name}`, request).catch(() => null);
    await answer?.body?.cancel();
    await pause(KICK_EVERY_MS);
  }
  if (killed) child.kill("SIGKILL");
  await child.stop();
}
