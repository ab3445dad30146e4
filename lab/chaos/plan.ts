import { FAULT_NAMES, type FaultName } from "./faults.ts";
import { createRandom, type Random } from "./random.ts";

/** A fault, its start after the load's, and its length where it has one, in ms. */
export type PlannedFault = { fault: FaultName; atMs: number; forMs: number };

/** The mean time between two faults, short enough that most overlap. */
const GAP_MS = 5_000;
const LEAST_MS = 1_500;
/** How long cron and the scheduler stop, when the run is long enough. */
const MINUTE_MS = 60_000;
const A_MINUTE: readonly FaultName[] = ["cron_stopped", "scheduler_hangs"];

/**
 * The faults and their times, from the seed alone. Every fault occurs once in each round, in random order; a short run
 * has one round.
 */
export function planFaults(seed: number, durationMs: number): PlannedFault[] {
  const random = createRandom(`faults ${seed}`);
  const count = Math.max(FAULT_NAMES.length, Math.floor(durationMs / GAP_MS));
  const rounds = Array.from({ length: Math.ceil(count / FAULT_NAMES.length) }, () => random.shuffled(FAULT_NAMES));
  return rounds
    .flat()
    .slice(0, count)
    .map((fault) => ({
      fault,
      atMs: Math.floor(random.number() * durationMs),
      forMs: lasts(fault, durationMs, random),
    }))
    .sort((a, b) => a.atMs - b.atMs);
}

function lasts(fault: FaultName, durationMs: number, random: Random): number {
  const most = Math.max(LEAST_MS, Math.min(15_000, durationMs / 5));
  return A_MINUTE.includes(fault) ? Math.max(most, Math.min(MINUTE_MS, durationMs / 10)) : random.whole(LEAST_MS, most);
}

/** Faults at the provider, as directives of the simulator, and how often each occurs in a hundred prompts. */
const DIRECTIVES = {
  "": 60,
  rejected: 3,
  "rate_limited=1": 3,
  server_error: 4,
  timeout: 0.5,
  lost_answer: 4,
  failed: 6,
  input_unreachable: 2,
  interrupted: 2,
  content_rejected: 1,
  content_refused: 1,
  "model_gone=google/nano-banana-2": 0.2,
  aborted: 2,
  canceled: 2,
  callback_lost: 5,
  callback_doubled: 3,
  callback_reordered: 3,
  "callback_late=1500": 3,
  callback_forged: 2,
  metrics_missing: 5,
  output_expired: 1,
  output_huge: 0.1,
  "output_padded=2000000": 1,
  output_not_image: 2,
  output_empty: 2,
  "output_slow=1500": 2,
  output_flaky: 2,
} as const;

/** A prompt that no other start has, with no fault, one, or (one in ten) two. */
export function planPrompt(random: Random, mark: string): string {
  const first = random.weighted(DIRECTIVES);
  const second = random.chance(0.1) ? random.weighted(DIRECTIVES) : "";
  const faults = [...new Set([first, second])].filter((fault) => fault !== "").map((fault) => `[[fault:${fault}]]`);
  return [`A harbour at dawn, take ${mark}`, ...faults].join(" ");
}

/** A prompt for two users at once. The answers to both submits and all callbacks are lost. */
export function pairPrompt(mark: string): string {
  return `A harbour at dawn, take ${mark} [[fault:lost_answer=2]] [[fault:callback_lost]]`;
}
