import { act } from "./act.ts";
import { applyFault, type Slot } from "./apply-fault.ts";
import { createDice } from "./dice.ts";
import { planFaults } from "./plan-faults.ts";
import { SERVICE_WIDE } from "./prepare.ts";
import { keepProbing } from "./probe.ts";
import type { ChaosOptions } from "./run-chaos.ts";
import type { User } from "./user.ts";
import { pause, type World } from "./world.ts";

const REPORT_EVERY_MS = 15_000;

/** Has users act and faults happen, all at once, until the time is over. */
export async function loadAndHarm(
  world: World,
  users: User[],
  { seed, durationMs, say, signal }: ChaosOptions,
): Promise<void> {
  const over = AbortSignal.any([AbortSignal.timeout(durationMs), ...(signal ? [signal] : [])]);
  const work = users.map(async (user) => {
    while (!over.aborted && !user.gone) {
      user.busy = act(user, world);
      await user.busy;
    }
  });
  const slots = (): Slot[] => [...SERVICE_WIDE, ...users.flatMap(({ listeners }) => listeners)];
  const harm = planFaults(seed, durationMs).map(async (planned, number) => {
    await waitUntil(planned.atMs, over);
    if (over.aborted) return;
    const { applied, notApplied, count } = { ...world.ledger, count: world.ledger.count };
    const done = await applyFault(world, planned, createDice(`fault ${number} of ${seed}`), slots());
    count(done ? applied : notApplied, planned.fault);
  });
  const report = (async () => {
    while (!over.aborted) {
      await waitUntil(REPORT_EVERY_MS, over);
      say(progress(world));
    }
  })();
  await Promise.all([...work, ...harm, report, keepProbing(world, over)]);
}

async function waitUntil(ms: number, over: AbortSignal): Promise<void> {
  const end = performance.now() + ms;
  while (!over.aborted && performance.now() < end) await pause(Math.min(100, end - performance.now()));
}

function progress(world: World): string {
  const { starts, answers, probes } = world.ledger;
  const done = [...world.ledger.applied.values()].reduce((sum, count) => sum + count, 0);
  return `${starts.length} starts, ${answers.length} answers, ${world.receivers.arrivals} requests at receivers, ${probes.length} probes, ${done} faults`;
}
