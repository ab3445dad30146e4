import type { FunctionName } from "../../local/stack/function-arguments.ts";
import { sign } from "../../shared/webhooks/signed-handler.ts";
import { startSecondProcess } from "./start-process.ts";
import { pause } from "../../shared/platform/pause.ts";
import type { World } from "./world.ts";

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
