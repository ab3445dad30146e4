import { hostedDenoMissing } from "../../../local/stack/function-arguments.ts";
import type { BenchStack } from "../bench-stack.ts";
import { startDeliver } from "../deliver/start-deliver.ts";
import type { DrainLoad } from "../memory/drain-deliveries.ts";
import { cpuOfProcess } from "./cpu-time.ts";

/** As often as the sweep might. */
const KICK_EVERY_MS = 1_000;

/**
 * ms of processor time of one delivery where deliver runs on the hosted platform's version of Deno; null where that is not
 * installed. The stack's own deliver stands still meanwhile: begin when it looks for nothing.
 */
export async function measureHostedDelivery(
  stack: BenchStack,
  { drain }: DrainLoad,
  events: number,
): Promise<number | null> {
  if (hostedDenoMissing !== undefined) return null;
  const deliver = await startDeliver(stack, "hosted");
  const own = stack.children.get("keyframe-deliver");
  own?.kill("SIGSTOP");
  const kicks = setInterval(() => void deliver.kick().catch(() => undefined), KICK_EVERY_MS);
  try {
    await drain(200); // warms up
    const before = await cpuOfProcess(deliver.pid);
    await drain(events);
    return ((await cpuOfProcess(deliver.pid)) - before) / events;
  } finally {
    clearInterval(kicks);
    await deliver.close();
    own?.kill("SIGCONT");
  }
}
