import type { Dice } from "./dice.ts";

/** What goes wrong at the provider, as directives of the simulator, and how often in a hundred prompts. Heavy ones are rare. */
const DIRECTIVES = {
  "": 55,
  rejected: 3,
  "rate_limited=1": 3,
  server_error: 4,
  timeout: 0.5,
  lost_answer: 4,
  failed: 6,
  aborted: 2,
  canceled: 2,
  callback_lost: 5,
  callback_doubled: 3,
  callback_reordered: 3,
  "callback_late=1500": 3,
  callback_forged: 2,
  output_expired: 1,
  output_huge: 0.1,
  "output_padded=2000000": 1,
  output_not_image: 2,
  output_empty: 2,
  "output_slow=1500": 2,
  output_flaky: 2,
} as const;

/** A prompt that no other start of the run has, with no fault, one, or (one time in ten) two at once. */
export function planPrompt(dice: Dice, mark: string): string {
  const first = dice.weighted(DIRECTIVES);
  const second = dice.chance(0.1) ? dice.weighted(DIRECTIVES) : "";
  const faults = [...new Set([first, second])].filter((fault) => fault !== "").map((fault) => `[[fault:${fault}]]`);
  return [`A harbour at dawn, take ${mark}`, ...faults].join(" ");
}

/** A prompt for two users at once. The answers to both submits are lost, and so is every callback. */
export function pairPrompt(mark: string): string {
  return `A harbour at dawn, take ${mark} [[fault:lost_answer=2]] [[fault:callback_lost]]`;
}
