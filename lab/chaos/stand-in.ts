import { join } from "node:path";
import { z } from "zod";
import type { ChildProcess } from "../../local/stack/child-process.ts";
import { socketsOf } from "./open-sockets.ts";
import { type SecondProcess, startSecondProcess } from "./start-second-process.ts";
import { insist, pause, type World } from "./world.ts";

const NAME = "keyframe-replicate-webhook";
/** Where such a process writes its log. */
export const strayLog = (dataDir: string) => join(dataDir, "logs", `${NAME}-wrong-clock.log`);

/**
 * Has another process of replicate-webhook, whose clock is wrong, stand where the stack's own did: the provider has one address
 * for all its callbacks. Afterwards a right one stands there again. False when that cannot be done now.
 */
export async function standIn(world: World, aheadMs: number, forMs: number): Promise<boolean> {
  const { stack, dataDir } = world;
  if (world.callbacksGoAstray) return false; // two of these must not be at one port
  world.callbacksGoAstray = true;
  const own = stack.children.get(NAME);
  const port = await insist(() => portOf(own), 5).catch(() => undefined);
  if (own === undefined || port === undefined) {
    world.callbacksGoAstray = false;
    return false;
  }
  const take = async (other: SecondProcess) => {
    stack.children.set(NAME, other.child);
    world.standIns.push(other);
    return other;
  };
  try {
    await own.stop();
    const clock = { aheadMs, jumps: false };
    const wrong = await take(await startSecondProcess(world, NAME, { clock, port, logFile: strayLog(dataDir) }));
    await pause(forMs);
    await wrong.stop();
  } finally {
    await take(await insist(() => startSecondProcess(world, NAME, { port })));
    world.callbacksGoAstray = false;
  }
  return true;
}

/** Throws while it does not listen: it may have been killed, and be on its way back. */
async function portOf(child: ChildProcess | undefined): Promise<number> {
  const port = child?.pid === undefined ? undefined : (await socketsOf(child.pid))?.listens[0];
  if (port === undefined) throw new Error(`${NAME} does not listen.`);
  return port;
}

/** What became of each callback that came to a process with a wrong clock: `refused` with a code, or taken. */
export async function strayCallbacks(dataDir: string): Promise<{ what: string; detail: string }[]> {
  const text = await Deno.readTextFile(strayLog(dataDir)).catch(() => ""); // nobody stood in
  return text.split("\n").flatMap((line) => {
    const { event, code = "", outcome = "" } = read(line);
    if (event === "request_refused") return [{ what: "refused", detail: code }];
    return event === "callback" ? [{ what: "taken", detail: outcome }] : [];
  });
}

const said = z.object({ event: z.string(), code: z.string().optional(), outcome: z.string().optional() }).partial();

/** Nothing of a line that is none of the function's, or that a kill has cut. */
function read(line: string): z.infer<typeof said> {
  try {
    return said.parse(JSON.parse(line));
  } catch {
    return {};
  }
}
