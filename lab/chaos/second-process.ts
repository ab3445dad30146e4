import { join } from "node:path";
import { z } from "zod";
import type { FunctionName } from "../../local/stack/function-arguments.ts";
import { jsonText } from "../../shared/platform/environment.ts";
import { sign } from "../../shared/webhooks/signed-handler.ts";
import { type SecondProcess, startSecondProcess } from "./start-process.ts";
import { pause } from "../../shared/platform/pause.ts";
import { retry, type World } from "./world.ts";

const KICK_EVERY_MS = 500;

type Second = {
  forMs: number;
  /** How far its clock is ahead, in ms. */
  aheadMs: number;
  /** Ended by SIGKILL in the middle of its work. */
  killed: boolean;
};

/**
 * Runs another process of a function in addition to the stack's own, as the hosted platform may. `api` gets every second
 * request of the users, the others get kicks. A wrong clock of `api` jumps in the middle of requests; those of the
 * others stay within the limit for their kicks' signatures.
 */
export async function runSecondProcess(
  world: World,
  name: Extract<FunctionName, "api" | "keyframe-generate" | "keyframe-deliver">,
  { forMs, aheadMs, killed }: Second,
): Promise<void> {
  const clock = aheadMs === 0 ? undefined : { aheadMs, jumps: name === "api" };
  const other = await startSecondProcess(world, name, { clock });
  try {
    if (name === "api") {
      world.secondApiOrigin = other.origin;
      await pause(forMs);
    } else await keepKicking(world, `${other.origin}/${name}`, forMs, aheadMs);
    if (killed) other.kill("SIGKILL");
  } finally {
    if (name === "api") world.secondApiOrigin = null;
    await other.stop();
  }
}

/** Kicks a process twice a second, as Postgres does. */
export async function keepKicking({ stack }: World, url: string, forMs: number, aheadMs: number): Promise<void> {
  const end = performance.now() + forMs;
  while (performance.now() < end) {
    const headers = sign(stack.keys.kickSecret, `kick_${crypto.randomUUID()}`, new Date(Date.now() + aheadMs), "{}");
    const request = { method: "POST", body: "{}", headers: { ...headers, "content-type": "application/json" } };
    const answer = await fetch(url, request).catch(() => null);
    await answer?.body?.cancel();
    await pause(KICK_EVERY_MS);
  }
}

const NAME = "keyframe-replicate-webhook";
/** The log of the process with the wrong clock. */
const wrongClockLog = (dataDir: string) => join(dataDir, "logs", `${NAME}-wrong-clock.log`);

/**
 * Replaces the stack's replicate-webhook by a process with a wrong clock, at the same port, because the provider has
 * one address for all callbacks. Afterwards a process with a right clock takes the port. False when that cannot be
 * done now.
 */
export async function replaceCallbackProcess(world: World, aheadMs: number, forMs: number): Promise<boolean> {
  const { stack, dataDir } = world;
  if (world.hasWrongCallbackClock) return false; // only one can have the port
  world.hasWrongCallbackClock = true;
  const port = Number(new URL(stack.functionUrls[NAME] ?? "").port);
  const take = async (other: SecondProcess) => {
    stack.children.set(NAME, other.child);
    world.replacements.push(other);
    return other;
  };
  try {
    await stack.children.get(NAME)?.stop();
    const clock = { aheadMs, jumps: false };
    const wrong = await take(await startSecondProcess(world, NAME, { clock, port, logFile: wrongClockLog(dataDir) }));
    await pause(forMs);
    await wrong.stop();
  } finally {
    await take(await retry(() => startSecondProcess(world, NAME, { port })));
    world.hasWrongCallbackClock = false;
  }
  return true;
}

/** The outcome of each callback at a process with a wrong clock: `refused` with a code, or `taken`. */
export async function wrongClockCallbacks(dataDir: string): Promise<{ what: string; detail: string }[]> {
  const text = await Deno.readTextFile(wrongClockLog(dataDir)).catch(() => ""); // it never ran
  return text.split("\n").flatMap((line) => {
    // Nothing of a line that is not the function's, or that a kill has cut.
    const { event, code = "", outcome = "" } = said.safeParse(line).data ?? {};
    if (event === "request_refused") return [{ what: "refused", detail: code }];
    return event === "callback" ? [{ what: "taken", detail: outcome }] : [];
  });
}

const said = jsonText.pipe(z.object({ event: z.string(), code: z.string(), outcome: z.string() }).partial());
