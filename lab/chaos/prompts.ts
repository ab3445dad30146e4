import type { Random } from "./random.ts";

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
