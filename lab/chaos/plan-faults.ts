import { createDice, type Dice } from "./dice.ts";

/** Everything that is done to a running stack, by name. What each does: apply-fault.ts. */
export const FAULT_NAMES = [
  "kill_api",
  "kill_generate",
  "kill_deliver",
  "kill_replicate_webhook",
  "kill_scheduler",
  "kill_postgres",
  "kill_gateway",
  "restart_gateway",
  "pg_net_queue_lost",
  "cron_stopped",
  "scheduler_hangs",
  "provider_hangs",
  "storage_refuses",
  "storage_slow",
  "storage_full",
  "clock_10_minutes_ahead",
  "clock_10_minutes_back",
  "second_generate",
  "second_deliver",
  "generate_with_wrong_clock",
  "deliver_with_wrong_clock",
  "api_with_wrong_clock",
  "replicate_webhook_with_wrong_clock",
  "account_deleted",
  "database_errors",
  "deadlock",
  "connection_limit",
  "receivers_misbehave",
] as const;
export type FaultName = (typeof FAULT_NAMES)[number];

/** A fault, when it begins after the start of the load and for how long it lasts (where it lasts), in ms. */
export type PlannedFault = { fault: FaultName; atMs: number; forMs: number };

/** Faults begin so far apart on average, so that most of them meet others. */
const GAP_MS = 5_000;
const LEAST_MS = 1_500;
/** Cron and the scheduler stay away so long, where the run is long enough. */
const MINUTE_MS = 60_000;
const A_MINUTE: readonly FaultName[] = ["cron_stopped", "scheduler_hangs"];

/**
 * What happens when, from the seed alone. Each fault occurs once in every round of all of them, in an order and at moments
 * of chance; a run too short for a round at the usual distance has one round, closer together.
 */
export function planFaults(seed: number, durationMs: number): PlannedFault[] {
  const dice = createDice(`faults ${seed}`);
  const count = Math.max(FAULT_NAMES.length, Math.floor(durationMs / GAP_MS));
  const rounds = Array.from({ length: Math.ceil(count / FAULT_NAMES.length) }, () => dice.shuffled(FAULT_NAMES));
  return rounds
    .flat()
    .slice(0, count)
    .map((fault) => ({ fault, atMs: Math.floor(dice.number() * durationMs), forMs: lasts(fault, durationMs, dice) }))
    .sort((a, b) => a.atMs - b.atMs);
}

function lasts(fault: FaultName, durationMs: number, dice: Dice): number {
  const most = Math.max(LEAST_MS, Math.min(15_000, durationMs / 5));
  return A_MINUTE.includes(fault) ? Math.max(most, Math.min(MINUTE_MS, durationMs / 10)) : dice.whole(LEAST_MS, most);
}
