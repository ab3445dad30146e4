import { sign } from "../../shared/webhooks/signature.ts";
import type { FunctionName } from "../../local/stack/function-arguments.ts";
import { startSecondProcess } from "./start-second-process.ts";
import { pause, type World } from "./world.ts";

const KICK_EVERY_MS = 500;

export type Second = {
  forMs: number;
  /** How far its clock is ahead, in ms. */
  aheadMs: number;
  /** Ended by SIGKILL, in the middle of whatever it does. */
  killed: boolean;
};

/**
 * Runs another process of a function beside the stack's own, as the hosted platform does when it likes, and has it work:
 * `api` for every second request of the users, the others by kicks, again and again. The clock of `api`, where it is wrong,
 * goes wrong in the middle of requests; the others' must be one that their kicks can be signed for.
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
      world.apiDetour = other.origin;
      await pause(forMs);
    } else await keepKicking(world, `${other.origin}/${name}`, forMs, aheadMs);
    if (killed) other.kill("SIGKILL");
  } finally {
    if (name === "api") world.apiDetour = null;
    await other.stop();
  }
}

async function keepKicking({ stack }: World, url: string, forMs: number, aheadMs: number): Promise<void> {
  const end = performance.now() + forMs;
  while (performance.now() < end) {
    const headers = sign(stack.keys.kickSecret, `kick_${crypto.randomUUID()}`, new Date(Date.now() + aheadMs), "{}");
    const request = { method: "POST", body: "{}", headers: { ...headers, "content-type": "application/json" } };
    const answer = await fetch(url, request).catch(() => null);
    await answer?.body?.cancel();
    await pause(KICK_EVERY_MS);
  }
}
